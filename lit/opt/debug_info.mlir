// RUN: shardproof-opt %s | filecheck %s --check-prefix WITHOUT
// RUN: shardproof-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix WITH

// WITHOUT-NOT: loc(
// WITH: loc("model.py":3:1)
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32> loc("model.py":3:1)
    return %0 : tensor<4xf32>
  }
}
