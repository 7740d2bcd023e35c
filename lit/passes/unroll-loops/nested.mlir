// RUN: shardproof-opt %s --unroll-loops --strip-dead-values | filecheck %s

// Two times two.
// CHECK-NOT: stablehlo.while
// CHECK-COUNT-4: stablehlo.tanh
// CHECK-NOT: stablehlo.tanh
module @nested {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s:2 = stablehlo.while(%k = %zero, %b = %a) : tensor<i32>, tensor<4xf32>
      cond {
        %q = stablehlo.compare LT, %k, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %q : tensor<i1>
      } do {
        %l = stablehlo.add %k, %one : tensor<i32>
        %c = stablehlo.tanh %b : tensor<4xf32>
        stablehlo.return %l, %c : tensor<i32>, tensor<4xf32>
      }
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s#1 : tensor<i32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}
