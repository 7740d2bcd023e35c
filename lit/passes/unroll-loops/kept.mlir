// RUN: shardproof-opt %s --unroll-loops=max-trips=4 --split-input-file | filecheck %s

// One trip more than allowed.
// CHECK: module @many
// CHECK: stablehlo.while
module @many {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<0> : tensor<i32>
    %limit = stablehlo.constant dense<5> : tensor<i32>
    %step = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %start, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %step : tensor<i32>
      %y = stablehlo.tanh %a : tensor<4xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}

// -----

// Never ends.
// CHECK: module @endless
// CHECK: stablehlo.while
module @endless {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<0> : tensor<i32>
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %step = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %start, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %step : tensor<i32>
      %y = stablehlo.tanh %a : tensor<4xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}

// -----

// The limit is an input.
// CHECK: module @data
// CHECK: stablehlo.while
module @data {
  func.func @main(%n: tensor<i32>) -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j : tensor<i32>
    }
    return %r : tensor<i32>
  }
}

// -----

// Devices make different numbers of trips.
// CHECK: module @devices
// CHECK: stablehlo.while
module @devices {
  func.func @main() -> tensor<ui32> {
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %one = stablehlo.constant dense<1> : tensor<ui32>
    %r = stablehlo.while(%i = %zero) : tensor<ui32>
    cond {
      %d = stablehlo.partition_id : tensor<ui32>
      %p = stablehlo.compare LT, %i, %d : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<ui32>
      stablehlo.return %j : tensor<ui32>
    }
    return %r : tensor<ui32>
  }
}

// -----

// A float counter rounds as its machine does.
// CHECK: module @float
// CHECK: stablehlo.while
module @float {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %limit = stablehlo.constant dense<0.3> : tensor<f32>
    %step = stablehlo.constant dense<0.1> : tensor<f32>
    %r:2 = stablehlo.while(%i = %start, %a = %x) : tensor<f32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %step : tensor<f32>
      %y = stablehlo.tanh %a : tensor<4xf32>
      stablehlo.return %j, %y : tensor<f32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}
