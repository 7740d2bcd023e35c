// Lemma *selected windows*: a sum over the windows that select an element is the original's if windows and
// sources are the same

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma selected windows 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<14x2xf32>
    %1 = stablehlo.optimization_barrier %arg1 : tensor<12x2xf32>
    %2 = "stablehlo.select_and_scatter"(%0, %1, %cst_0) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<14x2xf32>, tensor<12x2xf32>, tensor<f32>) -> tensor<14x2xf32>
    %3 = stablehlo.slice %2 [1:13, 0:2] : (tensor<14x2xf32>) -> tensor<12x2xf32>
    return %3 : tensor<12x2xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<12x2xf32>
    %1 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<12x2xf32>
    %2 = stablehlo.pad %0, %cst, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<16x2xf32>
    %3 = stablehlo.pad %1, %cst_1, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<16x2xf32>
    %c = stablehlo.constant dense<[0, 4, 8]> : tensor<3xi32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.dynamic_slice %c, %4, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %7 = stablehlo.add %6, %c_3 : tensor<i32>
    %8 = stablehlo.add %6, %c_4 : tensor<i32>
    %9 = stablehlo.dynamic_slice %2, %7, %c_2, sizes = [8, 2] : (tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
    %10 = stablehlo.dynamic_slice %3, %8, %c_2, sizes = [6, 2] : (tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>
    %11 = "stablehlo.select_and_scatter"(%9, %10, %cst_0) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %13 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %13 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %13 : tensor<f32>
    }) : (tensor<8x2xf32>, tensor<6x2xf32>, tensor<f32>) -> tensor<8x2xf32>
    %12 = stablehlo.slice %11 [2:6, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
    return %12 : tensor<4x2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<14x2xf32>
    %1 = stablehlo.optimization_barrier %arg1 : tensor<12x2xf32>
    %2 = "stablehlo.select_and_scatter"(%0, %1, %cst_0) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<14x2xf32>, tensor<12x2xf32>, tensor<f32>) -> tensor<14x2xf32>
    %3 = stablehlo.slice %2 [1:13, 0:2] : (tensor<14x2xf32>) -> tensor<12x2xf32>
    return %3 : tensor<12x2xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<12x2xf32>
    %1 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<12x2xf32>
    %2 = stablehlo.pad %0, %cst, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<16x2xf32>
    %3 = stablehlo.pad %1, %cst_1, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<16x2xf32>
    %c = stablehlo.constant dense<[0, 4, 8]> : tensor<3xi32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.dynamic_slice %c, %4, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %7 = stablehlo.add %6, %c_3 : tensor<i32>
    %8 = stablehlo.add %6, %c_4 : tensor<i32>
    %9 = stablehlo.dynamic_slice %2, %7, %c_2, sizes = [8, 2] : (tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
    %10 = stablehlo.dynamic_slice %3, %8, %c_2, sizes = [6, 2] : (tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>
    %11 = "stablehlo.select_and_scatter"(%9, %10, %cst_0) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %13 = stablehlo.compare GT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %13 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %13 : tensor<f32>
    }) : (tensor<8x2xf32>, tensor<6x2xf32>, tensor<f32>) -> tensor<8x2xf32>
    %12 = stablehlo.slice %11 [2:6, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
    return %12 : tensor<4x2xf32>
  }
}
