// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// Only the first four elements count; the devices sum all that they have.
// CHECK: REFUTED
// CHECK: error: elements that should be masked reach the result

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<f32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.iota dim = 0 : tensor<6xi32>
    %1 = stablehlo.reshape %0 : (tensor<6xi32>) -> tensor<6xi32>
    %c = stablehlo.constant dense<4> : tensor<6xi32>
    %2 = stablehlo.compare LT, %1, %c : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<6xf32>
    %3 = stablehlo.select %2, %arg0, %cst : tensor<6xi1>, tensor<6xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<f32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
