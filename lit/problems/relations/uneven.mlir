// Uneven parts: what no part covers is undefined.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [#shardproof.shard<0>],
  results = [#shardproof.shard<0>]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
    %0 = stablehlo.negate %x : tensor<5x3xf32>
    return %0 : tensor<5x3xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.negate %x : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [#shardproof.shard<0>],
  results = ["{devices=[3,1]2,1,0}"]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
    %0 = stablehlo.negate %x : tensor<5x3xf32>
    return %0 : tensor<5x3xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.negate %x : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
