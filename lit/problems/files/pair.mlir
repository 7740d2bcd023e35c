// Two modules @before and @after are a problem by themselves; what comes out is the exit code.
// RUN: expect-exit 1 validate-hlo %s --split-input-file 2>&1 | filecheck %s

// CHECK: PROVED (exact)
"shardproof.relations"() {parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
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

// CHECK: REFUTED
// CHECK: pair.mlir:32:10: error: 
"shardproof.relations"() {parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.abs %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
