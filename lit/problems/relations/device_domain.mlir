// A domain over devices: the last one holds its part in reverse.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [[{map = affine_map<(d, i) -> (2 * d + i)>, domain = affine_set<(d, i) : (1 - d >= 0)>},
                 {map = affine_map<(d, i) -> (2 * d + 1 - i)>, domain = affine_set<(d, i) : (d - 2 == 0)>}]],
  results = [[{map = affine_map<(d, i) -> (2 * d + i)>, domain = affine_set<(d, i) : (1 - d >= 0)>},
             {map = affine_map<(d, i) -> (2 * d + 1 - i)>, domain = affine_set<(d, i) : (d - 2 == 0)>}]]
} : () -> ()
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

// The result is not held like that.
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [[{map = affine_map<(d, i) -> (2 * d + i)>, domain = affine_set<(d, i) : (1 - d >= 0)>},
                 {map = affine_map<(d, i) -> (2 * d + 1 - i)>, domain = affine_set<(d, i) : (d - 2 == 0)>}]],
  results = [#shardproof.shard<0>]
} : () -> ()
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
