// A verdict that is not the expected one: exit code 6, and an error at the problem.
// RUN: expect-exit 6 validate-hlo %s --split-input-file -q 2>&1 | filecheck %s

// CHECK: PROVED (exact)
// CHECK-NEXT: unmet.mlir:6:1: error: expected REFUTED, found PROVED (exact)
"shardproof.problem"() {spec = @before, impl = @after, theory = "real", expect = "REFUTED", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// CHECK: REFUTED
// CHECK-NEXT: unmet.mlir:24:1: error: expected PROVED, found REFUTED
"shardproof.problem"() {spec = @before, impl = @after, theory = "real", expect = "PROVED", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.abs %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// The proof is there, but in another arithmetic than expected.
// CHECK: PROVED (exact)
// CHECK-NEXT: unmet.mlir:43:1: error: expected PROVED (real), found PROVED (exact)
"shardproof.problem"() {spec = @before, impl = @after, theory = "real", expect = "PROVED", proof = "real", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
