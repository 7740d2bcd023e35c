// RUN: shardproof-opt %s --pass-pipeline='builtin.module(unroll-loops{max-trips=100})' | filecheck %s --check-prefix MORE
// RUN: shardproof-opt %s --unroll-loops='max-trips=100 max-ops=50' | filecheck %s --check-prefix FEWER

// The limits are options: 65 trips of two operations.
// MORE-NOT: stablehlo.while
// FEWER: stablehlo.while
module @long {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %start = stablehlo.constant dense<0> : tensor<i32>
    %limit = stablehlo.constant dense<65> : tensor<i32>
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
