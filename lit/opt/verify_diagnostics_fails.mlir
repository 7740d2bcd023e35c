// RUN: expect-exit 1 shardproof-opt %s --verify-diagnostics --inline-calls 2>&1 >/dev/null | filecheck %s

// An error that nobody expects, and one that does not come.
// CHECK: verify_diagnostics_fails.mlir:11:{{[0-9]+}}: error: unexpected error: recursive call of '@main'
// CHECK: verify_diagnostics_fails.mlir:9: error: expected error 'something else' was not produced
// CHECK-NOT: error:
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+2 {{something else}}

    %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
