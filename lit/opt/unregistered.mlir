// RUN: expect-exit 1 shardproof-opt %s 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: shardproof-opt %s --allow-unregistered-dialect --strip-dead-values | filecheck %s

// Nothing is known of the operation, so it stays although nothing uses it.
// UNKNOWN: unregistered.mlir:9:{{[0-9]+}}: error: operation being parsed with an unregistered dialect
// CHECK: "mine.op"
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "mine.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
  }
}
