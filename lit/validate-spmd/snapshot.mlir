// RUN: expect-exit 1 shardproof-opt %s --unroll-loops=max-trips=65 --cse-is-no-flag 2>&1 | filecheck %s --check-prefix FLAG
// RUN: expect-exit 1 shardproof-opt %s --unroll-loops=max-trips=65 --validate-spmd 2>&1 | filecheck %s --check-prefix OPEN
// RUN: shardproof-opt %s --unroll-loops=max-trips=65 --snapshot --strip-dead-values --validate-spmd | filecheck %s

// FLAG: unknown option '--cse-is-no-flag'

// A loop of more than 64 trips is not repeated by the prover; the pipeline ends there with the report.
// OPEN: error: NOT_PROVED:
// OPEN: note: 0 of 1 output proved

// Compared with a snapshot after the unrolling, the rest of the pipeline is proved.
// CHECK-COUNT-65: stablehlo.tanh
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
      %y = stablehlo.tanh %a : tensor<4xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}
