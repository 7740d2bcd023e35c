// A mesh over devices in an order of its own.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.mesh"() {sym_name = "mesh", axes = ["x"], sizes = array<i64: 3>, device_ids = array<i64: 1, 2, 0>} : () -> ()
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [#shardproof.shard_over<0, @mesh, ["x"]>],
  results = [#shardproof.shard_over<0, @mesh, ["x"]>]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.negate %x : tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.mesh"() {sym_name = "mesh", axes = ["x"], sizes = array<i64: 3>, device_ids = array<i64: 1, 2, 0>} : () -> ()
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [#shardproof.shard_over<0, @mesh, ["x"]>],
  results = [#shardproof.shard<0>]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.negate %x : tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
