// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// Each device has the product over its part of the inner dimension, and nobody adds them up.
// CHECK: REFUTED
// CHECK: error: a partial result is never combined across devices

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 6 : i32} {
  func.func @main(%arg0: tensor<3x4xf32> {mhlo.sharding = "{devices=[1,2,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}, %arg1: tensor<4x5xf32> {mhlo.sharding = "{devices=[2,1,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}) -> (tensor<3x5xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func @main(%arg0: tensor<3x2xf32> {mhlo.sharding = "{devices=[1,2,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}, %arg1: tensor<2x5xf32> {mhlo.sharding = "{devices=[2,1,3]<=[3,2]T(1,0) last_tile_dim_replicate}"}) -> (tensor<3x5xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<3x2xf32>, tensor<2x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
