// A part of one dimension over one axis of a mesh; devices along the other axis hold the same.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.mesh"() {sym_name = "mesh", axes = ["x", "y"], sizes = array<i64: 2, 3>} : () -> ()
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
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %0 = stablehlo.negate %x : tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.mesh"() {sym_name = "mesh", axes = ["x", "y"], sizes = array<i64: 2, 3>} : () -> ()
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [#shardproof.shard_over<0, @mesh, ["x"]>],
  results = ["{devices=[2,1,3]<=[3,2]T(1,0) last_tile_dim_replicate}"]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %0 = stablehlo.negate %x : tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
