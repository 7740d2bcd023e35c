// Sums and maxima across devices, and what people do to them; 4 partitions.
module @sums attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8x8xf32>)
      -> (tensor<8x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %sum = "stablehlo.all_reduce"(%dot) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %twice = stablehlo.add %b, %b : tensor<8x8xf32>
    %bias = stablehlo.add %sum, %twice : tensor<8x8xf32>
    %act = stablehlo.tanh %sum : tensor<8x8xf32>
    %third = stablehlo.constant dense<0.25> : tensor<8x8xf32>
    %mean = stablehlo.multiply %act, %third : tensor<8x8xf32>
    %turned = stablehlo.transpose %mean, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %split = stablehlo.reshape %turned : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %rows = stablehlo.reduce(%split init: %init) applies stablehlo.add across dimensions = [1] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    %grad = "stablehlo.all_reduce"(%dot) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.maximum %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<8x8xf32> loc("jit(f)/transpose(jvp(f))/reduce")
    %part = "stablehlo.reduce_scatter"(%dot) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<2x8xf32>
    %difference = stablehlo.subtract %part, %rows : tensor<2x8xf32>
    return %bias, %difference, %grad, %turned : tensor<8x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
