// Gathers, exchanges and shifts; 4 partitions.
module @moves attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32>) -> (tensor<16x8xf32>, tensor<1x32xf32>, tensor<8x8xf32>, tensor<6x8xf32>) {
    %all = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
    %exchanged = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<4x8xf32>) -> tensor<1x32xf32>
    %blocks = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %shifted = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0], [3, 3]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %joined = stablehlo.concatenate %shifted, %blocks, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %rows = stablehlo.slice %joined [1:7, 0:8] : (tensor<8x8xf32>) -> tensor<6x8xf32>
    return %all, %exchanged, %joined, %rows : tensor<16x8xf32>, tensor<1x32xf32>, tensor<8x8xf32>, tensor<6x8xf32>
  }
}
