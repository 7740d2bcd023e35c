// all_reduce: partial sums of a contraction are completed.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (reassociated)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = [#shardproof.shard<1>, #shardproof.shard<0>], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x8xf32>, %w: tensor<8x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<6x2xf32>, %w: tensor<2x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x2xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}

// -----

// Over groups of two, half of the terms are missing.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = [#shardproof.shard<1>, #shardproof.shard<0>], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x8xf32>, %w: tensor<8x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<6x2xf32>, %w: tensor<2x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x2xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}
