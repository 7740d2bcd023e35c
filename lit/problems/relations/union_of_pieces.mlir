// A union of pieces, each on its own domain: the second half of each shard is held in reverse.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [[{map = affine_map<(d, i) -> (4 * d + i)>, domain = affine_set<(d, i) : (1 - i >= 0)>},
                 {map = affine_map<(d, i) -> (4 * d + 5 - i)>, domain = affine_set<(d, i) : (i - 2 >= 0)>}]],
  results = [[{map = affine_map<(d, i) -> (4 * d + i)>, domain = affine_set<(d, i) : (1 - i >= 0)>},
             {map = affine_map<(d, i) -> (4 * d + 5 - i)>, domain = affine_set<(d, i) : (i - 2 >= 0)>}]]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<12xf32>) -> tensor<12xf32> {
    %0 = stablehlo.negate %x : tensor<12xf32>
    return %0 : tensor<12xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [[{map = affine_map<(d, i) -> (4 * d + i)>, domain = affine_set<(d, i) : (1 - i >= 0)>},
                 {map = affine_map<(d, i) -> (4 * d + 5 - i)>, domain = affine_set<(d, i) : (i - 2 >= 0)>}]],
  results = [#shardproof.shard<0>]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<12xf32>) -> tensor<12xf32> {
    %0 = stablehlo.negate %x : tensor<12xf32>
    return %0 : tensor<12xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
