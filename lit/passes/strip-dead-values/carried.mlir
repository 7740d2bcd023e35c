// RUN: shardproof-opt %s --strip-dead-values --split-input-file | filecheck %s

// %u feeds only itself, %v only %u: both go, with what computes them.
// CHECK: module @unused
// CHECK: %[[R:.*]]:2 = stablehlo.while(%{{.*}}, %{{.*}}) : tensor<i32>, tensor<4xf32>
// CHECK-NOT: stablehlo.cosine
// CHECK: stablehlo.tanh
// CHECK-NOT: stablehlo.sine
// CHECK: return %[[R]]#1
module @unused {
  func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:4 = stablehlo.while(%u = %x, %i = %zero, %v = %x, %a = %x) : tensor<4xf32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.cosine %v : tensor<4xf32>
      %t = stablehlo.add %u, %w : tensor<4xf32>
      %b = stablehlo.tanh %a : tensor<4xf32>
      %s = stablehlo.sine %a : tensor<4xf32>
      stablehlo.return %t, %j, %s, %b : tensor<4xf32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
    return %r#3 : tensor<4xf32>
  }
}

// -----

// %v has no use after the loop, but what has one depends on it a trip later.
// CHECK: module @delayed
// CHECK: stablehlo.while(%{{.*}}, %{{.*}}, %{{.*}}) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
module @delayed {
  func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:3 = stablehlo.while(%i = %zero, %v = %x, %a = %x) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.cosine %v : tensor<4xf32>
      stablehlo.return %j, %w, %v : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
    return %r#2 : tensor<4xf32>
  }
}
