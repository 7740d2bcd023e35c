// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// The sum is taken, and taken again over devices that have it already.
// CHECK: REFUTED
// CHECK: error: a value is summed across devices that already hold all of it

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 6 : i32} {
  func.func @main(%arg0: tensor<3x4xf32> {mhlo.sharding = "{devices=[1,2,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}, %arg1: tensor<4x5xf32> {mhlo.sharding = "{devices=[2,1,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}) -> (tensor<3x5xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func @main(%arg0: tensor<3x2xf32> {mhlo.sharding = "{devices=[1,2,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}, %arg1: tensor<2x5xf32> {mhlo.sharding = "{devices=[2,1,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}) -> (tensor<3x5xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<3x2xf32>, tensor<2x5xf32>) -> tensor<3x5xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3], [4, 5]]> : tensor<3x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3], [4, 5]]> : tensor<3x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %2 : tensor<3x5xf32>
  }
}
