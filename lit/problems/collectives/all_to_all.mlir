// all_to_all: from parts of rows to parts of columns.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.shard<1>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x9xf32>) -> tensor<6x9xf32> {
    %0 = stablehlo.negate %x : tensor<6x9xf32>
    return %0 : tensor<6x9xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x9xf32>) -> tensor<6x3xf32> {
    %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 3 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x9xf32>) -> tensor<6x3xf32>
    %1 = stablehlo.negate %0 : tensor<6x3xf32>
    return %1 : tensor<6x3xf32>
  }
}

// -----

// In another order of devices, both are mixed up.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.shard<1>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x9xf32>) -> tensor<6x9xf32> {
    %0 = stablehlo.negate %x : tensor<6x9xf32>
    return %0 : tensor<6x9xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x9xf32>) -> tensor<6x3xf32> {
    %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 3 : i64, replica_groups = dense<[[0, 2, 1]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x9xf32>) -> tensor<6x3xf32>
    %1 = stablehlo.negate %0 : tensor<6x3xf32>
    return %1 : tensor<6x3xf32>
  }
}
