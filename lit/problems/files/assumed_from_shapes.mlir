// Parts that nothing is told of are cut as their shapes suggest, if the problem assumes so.
// RUN: expect-exit 0 validate-hlo %s --split-input-file 2>&1 | filecheck %s
// CHECK: PROVED (exact, assuming relations-from-shapes)
// CHECK: from shapes alone: parameter 0 on dimension 0, result 0 on dimension 0
// CHECK: UNSUPPORTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED", assume = ["relations-from-shapes"]} : () -> ()
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

"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "UNSUPPORTED"} : () -> ()
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
