// RUN: split-file %s %t
// RUN: expect-exit 0 validate-hlo %t/before.mlir %t/after.mlir | filecheck %s
// RUN: expect-exit 1 validate-hlo --no-confirm %t/before.mlir %t/broken.mlir | filecheck %s --check-prefix BROKEN

// On a mesh whose devices stand in another order, the group has that order too.
// CHECK: PROVED (exact)
// BROKEN: REFUTED
//--- before.mlir
module @m attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]2,0,1}"}) -> (tensor<6xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.negate %arg0 : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
//--- after.mlir
module @m attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]2,0,1}"}) -> (tensor<6xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.negate %arg0 : tensor<2xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[2, 0, 1]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
//--- broken.mlir
module @m attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]2,0,1}"}) -> (tensor<6xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.negate %arg0 : tensor<2xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
