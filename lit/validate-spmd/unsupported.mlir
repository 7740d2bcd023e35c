// RUN: expect-exit 1 shardproof-opt %s --general-dots --validate-spmd 2>&1 | filecheck %s

// What is not modelled is never skipped.
// CHECK: error: UNSUPPORTED:
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @Log(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
