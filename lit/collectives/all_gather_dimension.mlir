// RUN: split-file %s %t
// RUN: expect-exit 0 validate-hlo %t/before.mlir %t/after.mlir | filecheck %s
// RUN: expect-exit 1 validate-hlo --no-confirm %t/before.mlir %t/broken.mlir | filecheck %s --check-prefix BROKEN

// A square tensor gathered along the other dimension has the right shape and the wrong elements.
// CHECK: PROVED (exact)
// BROKEN: REFUTED
//--- before.mlir
module @m attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<3x3xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<3x9xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.concatenate %arg0, %arg0, %arg0, dim = 1 : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x9xf32>
    return %0 : tensor<3x9xf32>
  }
}
//--- after.mlir
module @m attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<1x3xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<3x9xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<1x3xf32>) -> tensor<3x3xf32>
    %1 = stablehlo.concatenate %0, %0, %0, dim = 1 : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x9xf32>
    return %1 : tensor<3x9xf32>
  }
}
//--- broken.mlir
module @m attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<1x3xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<3x9xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<1x3xf32>) -> tensor<1x9xf32>
    %1 = stablehlo.concatenate %0, %0, %0, dim = 0 : (tensor<1x9xf32>, tensor<1x9xf32>, tensor<1x9xf32>) -> tensor<3x9xf32>
    return %1 : tensor<3x9xf32>
  }
}
