// Lemma *ordered reduction*: reductions of equal sequences, start values left out, are equal

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma ordered reduction 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x12xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"}) -> (tensor<4xi32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.iota dim = 1 : tensor<4x12xi32>
    %1 = stablehlo.optimization_barrier %arg0 : tensor<4x12xf32>
    %2:2 = stablehlo.reduce(%1 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<4x12xf32>, tensor<4x12xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %4 = stablehlo.compare GT, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.or %4, %5 : tensor<i1>
      %7 = stablehlo.select %6, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %8 = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.compare LT, %arg2, %arg4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %10 = stablehlo.and %8, %9 : tensor<i1>
      %11 = stablehlo.or %6, %10 : tensor<i1>
      %12 = stablehlo.select %11, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %7, %12 : tensor<f32>, tensor<i32>
    }
    %3 = stablehlo.optimization_barrier %2#1 : tensor<4xi32>
    return %3 : tensor<4xi32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"}) -> (tensor<4xi32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<[0, 4, 8]> : tensor<3xi32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.dynamic_slice %c_0, %0, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xi32>) -> tensor<4x4xi32>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %4 = stablehlo.add %3, %2 : tensor<4x4xi32>
    %c_1 = stablehlo.constant dense<12> : tensor<4x4xi32>
    %5 = stablehlo.compare LT, %4, %c_1 : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %8 = stablehlo.select %5, %arg0, %6 : tensor<4x4xi1>, tensor<4x4xf32>
    %9 = stablehlo.select %5, %4, %7 : tensor<4x4xi1>, tensor<4x4xi32>
    %10:2 = stablehlo.reduce(%8 init: %cst), (%9 init: %c) across dimensions = [1] : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %17 = stablehlo.compare GT, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %18 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %19 = stablehlo.or %17, %18 : tensor<i1>
      %20 = stablehlo.select %19, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %21 = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %22 = stablehlo.compare LT, %arg2, %arg4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %23 = stablehlo.and %21, %22 : tensor<i1>
      %24 = stablehlo.or %19, %23 : tensor<i1>
      %25 = stablehlo.select %24, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %20, %25 : tensor<f32>, tensor<i32>
    }
    %11 = stablehlo.reshape %10#0 : (tensor<4xf32>) -> tensor<4x1xf32>
    %12 = stablehlo.reshape %10#1 : (tensor<4xi32>) -> tensor<4x1xi32>
    %13 = "stablehlo.all_gather"(%11) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x1xf32>) -> tensor<4x3xf32>
    %14 = "stablehlo.all_gather"(%12) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x1xi32>) -> tensor<4x3xi32>
    %15:2 = stablehlo.reduce(%13 init: %cst), (%14 init: %c) across dimensions = [1] : (tensor<4x3xf32>, tensor<4x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %17 = stablehlo.compare GT, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %18 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %19 = stablehlo.or %17, %18 : tensor<i1>
      %20 = stablehlo.select %19, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %21 = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %22 = stablehlo.compare LT, %arg2, %arg4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %23 = stablehlo.and %21, %22 : tensor<i1>
      %24 = stablehlo.or %19, %23 : tensor<i1>
      %25 = stablehlo.select %24, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %20, %25 : tensor<f32>, tensor<i32>
    }
    %16 = stablehlo.optimization_barrier %15#1 : tensor<4xi32>
    return %16 : tensor<4xi32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x12xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"}) -> (tensor<4xi32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.iota dim = 1 : tensor<4x12xi32>
    %1 = stablehlo.optimization_barrier %arg0 : tensor<4x12xf32>
    %2:2 = stablehlo.reduce(%1 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<4x12xf32>, tensor<4x12xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %4 = stablehlo.compare GT, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.or %4, %5 : tensor<i1>
      %7 = stablehlo.select %6, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %8 = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.compare LT, %arg2, %arg4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %10 = stablehlo.and %8, %9 : tensor<i1>
      %11 = stablehlo.or %6, %10 : tensor<i1>
      %12 = stablehlo.select %11, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %7, %12 : tensor<f32>, tensor<i32>
    }
    %3 = stablehlo.optimization_barrier %2#1 : tensor<4xi32>
    return %3 : tensor<4xi32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"}) -> (tensor<4xi32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<[1, 5, 9]> : tensor<3xi32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.dynamic_slice %c_0, %0, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xi32>) -> tensor<4x4xi32>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %4 = stablehlo.add %3, %2 : tensor<4x4xi32>
    %c_1 = stablehlo.constant dense<12> : tensor<4x4xi32>
    %5 = stablehlo.compare LT, %4, %c_1 : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %8 = stablehlo.select %5, %arg0, %6 : tensor<4x4xi1>, tensor<4x4xf32>
    %9 = stablehlo.select %5, %4, %7 : tensor<4x4xi1>, tensor<4x4xi32>
    %10:2 = stablehlo.reduce(%8 init: %cst), (%9 init: %c) across dimensions = [1] : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %17 = stablehlo.compare GT, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %18 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %19 = stablehlo.or %17, %18 : tensor<i1>
      %20 = stablehlo.select %19, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %21 = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %22 = stablehlo.compare LT, %arg2, %arg4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %23 = stablehlo.and %21, %22 : tensor<i1>
      %24 = stablehlo.or %19, %23 : tensor<i1>
      %25 = stablehlo.select %24, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %20, %25 : tensor<f32>, tensor<i32>
    }
    %11 = stablehlo.reshape %10#0 : (tensor<4xf32>) -> tensor<4x1xf32>
    %12 = stablehlo.reshape %10#1 : (tensor<4xi32>) -> tensor<4x1xi32>
    %13 = "stablehlo.all_gather"(%11) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x1xf32>) -> tensor<4x3xf32>
    %14 = "stablehlo.all_gather"(%12) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> : (tensor<4x1xi32>) -> tensor<4x3xi32>
    %15:2 = stablehlo.reduce(%13 init: %cst), (%14 init: %c) across dimensions = [1] : (tensor<4x3xf32>, tensor<4x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %17 = stablehlo.compare GT, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %18 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %19 = stablehlo.or %17, %18 : tensor<i1>
      %20 = stablehlo.select %19, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %21 = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %22 = stablehlo.compare LT, %arg2, %arg4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %23 = stablehlo.and %21, %22 : tensor<i1>
      %24 = stablehlo.or %19, %23 : tensor<i1>
      %25 = stablehlo.select %24, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %20, %25 : tensor<f32>, tensor<i32>
    }
    %16 = stablehlo.optimization_barrier %15#1 : tensor<4xi32>
    return %16 : tensor<4xi32>
  }
}
