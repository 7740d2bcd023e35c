// An op that is not modelled makes a problem UNSUPPORTED, which can be expected too.
// RUN: expect-exit 0 validate-hlo %s 2>&1 | filecheck %s
// CHECK: UNSUPPORTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "UNSUPPORTED", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %low = stablehlo.constant dense<0.0> : tensor<f32>
    %high = stablehlo.constant dense<1.0> : tensor<f32>
    %shape = stablehlo.constant dense<2> : tensor<1xi64>
    %0 = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
