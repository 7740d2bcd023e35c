// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// Each device takes its part of two at its number instead of twice its number.
// CHECK: REFUTED
// CHECK: error: elements are read or written at the wrong offset

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<6xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<6xf32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<6xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.constant dense<1> : tensor<ui32>
    %1 = stablehlo.multiply %0, %c : tensor<ui32>
    %2 = stablehlo.dynamic_slice %arg0, %1, sizes = [2] : (tensor<6xf32>, tensor<ui32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
}
