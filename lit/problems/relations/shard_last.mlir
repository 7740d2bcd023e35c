// The last dimension is cut.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = [#shardproof.shard<1>],
  results = [#shardproof.shard<1>]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<5x6xf32>) -> tensor<5x6xf32> {
    %0 = stablehlo.negate %x : tensor<5x6xf32>
    return %0 : tensor<5x6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
    %0 = stablehlo.negate %x : tensor<5x2xf32>
    return %0 : tensor<5x2xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = [#shardproof.shard<1>],
  results = ["{devices=[1,3]0,2,1}"]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<5x6xf32>) -> tensor<5x6xf32> {
    %0 = stablehlo.negate %x : tensor<5x6xf32>
    return %0 : tensor<5x6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
    %0 = stablehlo.negate %x : tensor<5x2xf32>
    return %0 : tensor<5x2xf32>
  }
}
