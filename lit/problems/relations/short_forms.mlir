// The short form of a part over axes, which means the only mesh of the file.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.mesh"() {sym_name = "mesh", axes = ["x", "y"], sizes = array<i64: 2, 3>} : () -> ()
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [{shard = 0, axis = ["y", "x"]}],
  results = [{shard = 0, axis = ["y", "x"]}]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<12x5xf32>) -> tensor<12x5xf32> {
    %0 = stablehlo.negate %x : tensor<12x5xf32>
    return %0 : tensor<12x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.negate %x : tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.mesh"() {sym_name = "mesh", axes = ["x", "y"], sizes = array<i64: 2, 3>} : () -> ()
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [{shard = 0, axis = ["y", "x"]}],
  results = [{shard = 0, axis = ["x", "y"]}]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<12x5xf32>) -> tensor<12x5xf32> {
    %0 = stablehlo.negate %x : tensor<12x5xf32>
    return %0 : tensor<12x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.negate %x : tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
