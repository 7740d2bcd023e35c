// XLA's own syntax, a permuted device order included.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = ["{devices=[2,2]<=[2,2]T(1,0)}"],
  results = ["{devices=[2,2]0,2,1,3}"]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.negate %x : tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  }
}
module @after attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.negate %x : tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = ["{devices=[2,2]<=[2,2]T(1,0)}"],
  results = ["{devices=[2,2]<=[4]}"]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.negate %x : tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  }
}
module @after attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.negate %x : tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}
