// all_reduce along one axis of a mesh of 2 by 3.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (reassociated)
// CHECK-NEXT: REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED",
  parameters = ["{devices=[1,2,3]<=[6] last_tile_dim_replicate}", "{devices=[2,1,3]<=[6] last_tile_dim_replicate}"], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x8xf32>, %w: tensor<8x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}

// -----

// Groups along the other axis.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED",
  parameters = ["{devices=[1,2,3]<=[6] last_tile_dim_replicate}", "{devices=[2,1,3]<=[6] last_tile_dim_replicate}"], results = [#shardproof.replicated]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x8xf32>, %w: tensor<8x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>) -> tensor<6x5xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<6x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}
