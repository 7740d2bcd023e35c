// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// Another number is added.
// CHECK: REFUTED
// CHECK: error: a constant is another one than the original's

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
