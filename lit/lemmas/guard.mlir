// Lemma *guard*: what is read at an unknown integer e[x] is the sum over t of what is read at t, guarded by e[x]
// = t

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma guard 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %0 = stablehlo.clamp %c, %arg1, %c_0 : tensor<i32>
    %c_1 = stablehlo.constant dense<[0, 2, 4]> : tensor<3xi32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.dynamic_slice %c_1, %1, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %3 = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<i32>
    %4 = stablehlo.subtract %0, %3 : tensor<i32>
    %c_2 = stablehlo.constant dense<2> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.compare GE, %4, %c_3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare LT, %4, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.dynamic_slice %arg0, %4, sizes = [1] : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %9 = stablehlo.select %7, %8, %cst : tensor<i1>, tensor<1xf32>
    %10 = "stablehlo.all_reduce"(%9) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<1xf32>) -> tensor<1xf32>
    return %10 : tensor<1xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.optimization_barrier %arg1 : tensor<i32>
    %c = stablehlo.constant dense<[0, 2, 4]> : tensor<3xi32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %3 = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<i32>
    %4 = stablehlo.subtract %0, %3 : tensor<i32>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.compare GE, %4, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare LT, %4, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.dynamic_slice %arg0, %4, sizes = [1] : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
    %9 = stablehlo.select %7, %8, %cst : tensor<i1>, tensor<1xf32>
    %10 = "stablehlo.all_reduce"(%9) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<1xf32>) -> tensor<1xf32>
    return %10 : tensor<1xf32>
  }
}
