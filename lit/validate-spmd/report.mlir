// RUN: shardproof-opt %s --validate-spmd --unroll-loops=max-trips=65 --verify-diagnostics --validate-spmd -o %t.mlir

// The report's lines are diagnostics at the op where the proof stops, which a test can expect.
module @m {
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
      // expected-error@below {{NOT_PROVED}}
      %y = stablehlo.tanh %a : tensor<4xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
    }
    // expected-note@unknown {{0 of 1 output proved}}
    return %r#1 : tensor<4xf32>
  }
}
