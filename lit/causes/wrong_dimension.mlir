// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// A reshape stands where the original transposes.
// CHECK: REFUTED
// CHECK: error: data is laid out along the wrong dimension

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2x9xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"}) -> (tensor<9x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x9xf32>) -> tensor<9x2xf32>
    return %0 : tensor<9x2xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2x3xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"}) -> (tensor<3x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}
