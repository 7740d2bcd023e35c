// RUN: shardproof-opt %s --explicit-replica-groups | filecheck %s

// Tables stay, in their order; other operations have none.
// CHECK: replica_groups = dense<{{\[\[}}3, 0], [1, 2]]>
// CHECK: stablehlo.negate
module @m attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}>
        : (tensor<4xf32>) -> tensor<8xf32>
    %1 = stablehlo.negate %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
