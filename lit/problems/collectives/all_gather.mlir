// all_gather: every device ends up with all rows.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<2x5xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}

// -----

// In another order of devices, the rows are in another order.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.negate %x : tensor<2x5xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2, 1]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}
