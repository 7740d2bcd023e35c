// The logical index of each local one, by the number of the device: rows dealt out in turn.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [affine_map<(d, i, j) -> (d + 3 * i, j)>],
  results = [affine_map<(d, i, j) -> (d + 3 * i, j)>]
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
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [affine_map<(d, i, j) -> (d + 3 * i, j)>],
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
