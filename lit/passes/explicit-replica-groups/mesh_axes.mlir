// REQUIRES: mesh-groups
// RUN: shardproof-opt %s --explicit-replica-groups | filecheck %s

// Groups by the axes of a mesh: the minor axis, the major one, both in the other order, and half of an axis.
// CHECK: replica_groups = dense<{{\[\[}}0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>
// CHECK: replica_groups = dense<{{\[\[}}0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>
// CHECK: replica_groups = dense<{{\[\[}}0, 4, 1, 5, 2, 6, 3, 7]]> : tensor<1x8xi64>
// CHECK: replica_groups = dense<{{\[\[}}0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>
module @m attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4]>
  func.func @main(%x: tensor<4xf32>) -> (tensor<16xf32>, tensor<8xf32>, tensor<32xf32>, tensor<8xf32>) {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "b">]>}>
        : (tensor<4xf32>) -> tensor<16xf32>
    %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "a">]>}>
        : (tensor<4xf32>) -> tensor<8xf32>
    %2 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
            axes = [#stablehlo.axis_ref<name = "b">, #stablehlo.axis_ref<name = "a">]>}>
        : (tensor<4xf32>) -> tensor<32xf32>
    %3 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
            axes = [#stablehlo.axis_ref<name = "b", sub_axis_info = (1)2>]>}>
        : (tensor<4xf32>) -> tensor<8xf32>
    return %0, %1, %2, %3 : tensor<16xf32>, tensor<8xf32>, tensor<32xf32>, tensor<8xf32>
  }
}
