// RUN: shardproof-opt %s --explicit-replica-groups --split-input-file | filecheck %s

// No groups mean everyone: all replicas here, since there is no channel.
// CHECK: module @replicas
// CHECK: replica_groups = dense<{{\[\[}}0, 1, 2]]> : tensor<1x3xi64>
module @replicas attributes {mhlo.num_replicas = 3 : i32, mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<12xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}>
        : (tensor<4xf32>) -> tensor<12xf32>
    return %0 : tensor<12xf32>
  }
}

// -----

// With a channel, all replicas of all partitions: the numbers still count replicas.
// CHECK: module @both
// CHECK: replica_groups = dense<{{\[\[}}0, 1, 2]]> : tensor<1x3xi64>
module @both attributes {mhlo.num_replicas = 3 : i32, mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<24xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}>
        : (tensor<4xf32>) -> tensor<24xf32>
    return %0 : tensor<24xf32>
  }
}

// -----

// A broadcast with a channel counts partitions.
// CHECK: module @partitions
// CHECK: replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>
module @partitions attributes {mhlo.num_replicas = 3 : i32, mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<> : tensor<0x0xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Nobody says how many there are: the groups stay as they are.
// CHECK: module @unknown
// CHECK: replica_groups = dense<> : tensor<0x0xi64>
module @unknown {
  func.func @main(%x: tensor<4xf32>) -> tensor<12xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}>
        : (tensor<4xf32>) -> tensor<12xf32>
    return %0 : tensor<12xf32>
  }
}
