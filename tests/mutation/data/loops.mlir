// A loop that sums each trip's part across devices and accumulates it; 4 partitions.
module @loops attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<3x8xf32>, %start: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<3> : tensor<i32>
    %loop:3 = stablehlo.while(%i = %zero, %total = %start, %last = %start) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    cond {
      %more = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %part = stablehlo.reshape %row : (tensor<1x8xf32>) -> tensor<8xf32>
      %sum = "stablehlo.all_reduce"(%part) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      %new = stablehlo.add %total, %sum : tensor<8xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %new, %sum : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    }
    return %loop#1, %loop#2 : tensor<8xf32>, tensor<8xf32>
  }
}
