// partition_id: every device cuts its own rows out.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = [#shardproof.replicated], results = [#shardproof.shard<0>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    return %x : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<2x5xf32> {
    %id = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %1 = stablehlo.multiply %0, %two : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_slice %x, %1, %zero, sizes = [2, 5] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x5xf32>
    return %2 : tensor<2x5xf32>
  }
}

// -----

// At steps of one row, the parts overlap.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = [#shardproof.replicated], results = [#shardproof.shard<0>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    return %x : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<2x5xf32> {
    %id = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
    %two = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.multiply %0, %two : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_slice %x, %1, %zero, sizes = [2, 5] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x5xf32>
    return %2 : tensor<2x5xf32>
  }
}
