// Diagnostics that nothing expects and expectations that nothing meets: exit code 6.
// RUN: expect-exit 6 validate-hlo %s --verify-diagnostics 2>&1 | filecheck %s
// CHECK: verify_diagnostics_fails.mlir:9:1: error: unexpected error: expected PROVED, found REFUTED
// CHECK-DAG: verify_diagnostics_fails.mlir:19:10: error: unexpected error: result 0
// CHECK-DAG: verify_diagnostics_fails.mlir:18: error: expected error 'rows are mixed up' was not produced
// CHECK-DAG: verify_diagnostics_fails.mlir:8: error: expected warning 'slow' was not produced

// expected-warning@unknown {{slow}}
"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    // expected-error@-2 {{rows are mixed up}}
    %0 = stablehlo.abs %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
