// reduce_scatter: sums are completed and every device keeps its rows.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (reassociated)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = [#shardproof.shard<1>, #shardproof.shard<0>], results = [#shardproof.shard<0>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x6xf32>, %w: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x6xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<6x2xf32>, %w: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x2xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
    %1 = "stablehlo.reduce_scatter"(%0) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6x5xf32>) -> tensor<2x5xf32>
    return %1 : tensor<2x5xf32>
  }
}

// -----

// In another order of devices, they keep the rows of others.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = [#shardproof.shard<1>, #shardproof.shard<0>], results = [#shardproof.shard<0>]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x6xf32>, %w: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x6xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<6x2xf32>, %w: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x2xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
    %1 = "stablehlo.reduce_scatter"(%0) <{scatter_dimension = 0 : i64, replica_groups = dense<[[1, 2, 0]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6x5xf32>) -> tensor<2x5xf32>
    return %1 : tensor<2x5xf32>
  }
}
