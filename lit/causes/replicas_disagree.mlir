// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// Only device 0 returns the value, the others return zero.
// CHECK: REFUTED
// CHECK: error: devices that must hold the same hold different values

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<4xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.negate %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<4xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
    %1 = stablehlo.dynamic_slice %c, %0, sizes = [1] : (tensor<3xi1>, tensor<ui32>) -> tensor<1xi1>
    %2 = stablehlo.reshape %1 : (tensor<1xi1>) -> tensor<i1>
    %3 = stablehlo.negate %arg0 : tensor<4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
    %4 = stablehlo.select %2, %3, %cst : tensor<i1>, tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}
