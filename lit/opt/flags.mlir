// RUN: shardproof-opt %s --strip-dead-values --unroll-loops=max-trips=7 --dump-pass-pipeline 2>&1 >/dev/null | filecheck %s

// Flags are passes in the order of the command line.
// CHECK: builtin.module(strip-dead-values,unroll-loops{max-trips=7})
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = stablehlo.negate %x : tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
