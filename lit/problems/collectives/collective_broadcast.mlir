// collective_broadcast: all devices get what the first of the group holds.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.slice %x [0:2, 0:5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}

// -----

// Another device comes first.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.slice %x [0:2, 0:5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 2, 0]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
