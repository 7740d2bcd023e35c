// RUN: shardproof-opt %s --unroll-loops --strip-dead-values --split-input-file | filecheck %s

// Three trips.
// CHECK: module @three
// CHECK-NEXT: func.func @main(%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[A:.*]] = stablehlo.tanh %[[X]]
// CHECK-NEXT: %[[B:.*]] = stablehlo.tanh %[[A]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.tanh %[[B]]
// CHECK-NEXT: return %[[C]]
module @three {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<0> : tensor<i32>
    %limit = stablehlo.constant dense<3> : tensor<i32>
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

// None at all.
// CHECK: module @none
// CHECK-NEXT: func.func @main(%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]]
module @none {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<0> : tensor<i32>
    %limit = stablehlo.constant dense<0> : tensor<i32>
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

// Downwards by two: 5, 3, 1.
// CHECK: module @down
// CHECK-COUNT-3: stablehlo.tanh
// CHECK-NEXT: return
module @down {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<5> : tensor<i32>
    %limit = stablehlo.constant dense<0> : tensor<i32>
    %step = stablehlo.constant dense<-2> : tensor<i32>
    %r:2 = stablehlo.while(%i = %start, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare GT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
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

// The counter wraps around in eight bits: 100, 110, 120, and then -126.
// CHECK: module @wraps
// CHECK-COUNT-3: stablehlo.tanh
// CHECK-NEXT: return
module @wraps {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<100> : tensor<i8>
    %limit = stablehlo.constant dense<0> : tensor<i8>
    %step = stablehlo.constant dense<10> : tensor<i8>
    %r:2 = stablehlo.while(%i = %start, %a = %x) : tensor<i8>, tensor<4xf32>
    cond {
      %p = stablehlo.compare GT, %i, %limit : (tensor<i8>, tensor<i8>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %step : tensor<i8>
      %y = stablehlo.tanh %a : tensor<4xf32>
      stablehlo.return %j, %y : tensor<i8>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}
