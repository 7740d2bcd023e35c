// collective_permute: a shift by one device around a ring of three.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.shard<0>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.slice %x [4:6, 0:5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
    %1 = stablehlo.slice %x [0:4, 0:5] : (tensor<6x5xf32>) -> tensor<4x5xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x5xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    return %2 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}

// -----

// The other way round.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = [#shardproof.shard<0>], results = [#shardproof.shard<0>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.slice %x [4:6, 0:5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
    %1 = stablehlo.slice %x [0:4, 0:5] : (tensor<6x5xf32>) -> tensor<4x5xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x5xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    return %2 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[1, 0], [2, 1], [0, 2]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
