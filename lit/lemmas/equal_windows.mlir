// Lemma *equal windows*: reductions of windows with the same elements at the same places are equal

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma equal windows 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.optimization_barrier %arg0 : tensor<12x2xf32>
    %1 = "stablehlo.reduce_window"(%0, %cst) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      %3 = stablehlo.subtract %arg1, %arg2 : tensor<f32>
      %4 = stablehlo.abs %3 : tensor<f32>
      %5 = stablehlo.negate %4 : tensor<f32>
      %6 = stablehlo.exponential %5 : tensor<f32>
      %7 = stablehlo.log_plus_one %6 : tensor<f32>
      %8 = stablehlo.compare NE, %3, %3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %10 = stablehlo.add %2, %7 : tensor<f32>
      %11 = stablehlo.select %8, %9, %10 : tensor<i1>, tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<12x2xf32>, tensor<f32>) -> tensor<12x2xf32>
    return %1 : tensor<12x2xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<12x2xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.pad %0, %cst_0, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<14x2xf32>
    %c = stablehlo.constant dense<[0, 4, 8]> : tensor<3xi32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %3 : (tensor<1xi32>) -> tensor<i32>
    %5 = stablehlo.dynamic_slice %1, %4, %c_1, sizes = [6, 2] : (tensor<14x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>
    %6 = "stablehlo.reduce_window"(%5, %cst) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %7 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      %8 = stablehlo.subtract %arg1, %arg2 : tensor<f32>
      %9 = stablehlo.abs %8 : tensor<f32>
      %10 = stablehlo.negate %9 : tensor<f32>
      %11 = stablehlo.exponential %10 : tensor<f32>
      %12 = stablehlo.log_plus_one %11 : tensor<f32>
      %13 = stablehlo.compare NE, %8, %8 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %15 = stablehlo.add %7, %12 : tensor<f32>
      %16 = stablehlo.select %13, %14, %15 : tensor<i1>, tensor<f32>
      stablehlo.return %16 : tensor<f32>
    }) : (tensor<6x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    return %6 : tensor<4x2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.optimization_barrier %arg0 : tensor<12x2xf32>
    %1 = "stablehlo.reduce_window"(%0, %cst) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      %3 = stablehlo.subtract %arg1, %arg2 : tensor<f32>
      %4 = stablehlo.abs %3 : tensor<f32>
      %5 = stablehlo.negate %4 : tensor<f32>
      %6 = stablehlo.exponential %5 : tensor<f32>
      %7 = stablehlo.log_plus_one %6 : tensor<f32>
      %8 = stablehlo.compare NE, %3, %3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %10 = stablehlo.add %2, %7 : tensor<f32>
      %11 = stablehlo.select %8, %9, %10 : tensor<i1>, tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<12x2xf32>, tensor<f32>) -> tensor<12x2xf32>
    return %1 : tensor<12x2xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<12x2xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.pad %0, %cst_0, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<12x2xf32>, tensor<f32>) -> tensor<14x2xf32>
    %c = stablehlo.constant dense<[0, 3, 7]> : tensor<3xi32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %3 : (tensor<1xi32>) -> tensor<i32>
    %5 = stablehlo.dynamic_slice %1, %4, %c_1, sizes = [6, 2] : (tensor<14x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>
    %6 = "stablehlo.reduce_window"(%5, %cst) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %7 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      %8 = stablehlo.subtract %arg1, %arg2 : tensor<f32>
      %9 = stablehlo.abs %8 : tensor<f32>
      %10 = stablehlo.negate %9 : tensor<f32>
      %11 = stablehlo.exponential %10 : tensor<f32>
      %12 = stablehlo.log_plus_one %11 : tensor<f32>
      %13 = stablehlo.compare NE, %8, %8 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %15 = stablehlo.add %7, %12 : tensor<f32>
      %16 = stablehlo.select %13, %14, %15 : tensor<i1>, tensor<f32>
      stablehlo.return %16 : tensor<f32>
    }) : (tensor<6x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    return %6 : tensor<4x2xf32>
  }
}
