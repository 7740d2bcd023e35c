// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// Nothing is known of a custom call with a side effect.
// CHECK: UNSUPPORTED
// CHECK: error: the program contains a construct that is not modelled

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "UNSUPPORTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.custom_call @Log(%arg0) {has_side_effect = true} : (tensor<6xf32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.custom_call @Log(%arg0) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
