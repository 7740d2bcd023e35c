// A part of each of the blocks that a dimension consists of.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [#shardproof.shard_blocks<0, [6, 12]>],
  results = [#shardproof.shard_blocks<0, [6, 12]>]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<18x5xf32>) -> tensor<18x5xf32> {
    %0 = stablehlo.negate %x : tensor<18x5xf32>
    return %0 : tensor<18x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [#shardproof.shard_blocks<0, [6, 12]>],
  results = [#shardproof.shard_blocks<0, [12, 6]>]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<18x5xf32>) -> tensor<18x5xf32> {
    %0 = stablehlo.negate %x : tensor<18x5xf32>
    return %0 : tensor<18x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
