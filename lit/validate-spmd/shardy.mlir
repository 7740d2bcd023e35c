// RUN: shardproof-opt %s --pass-pipeline='builtin.module(sdy-propagation-pipeline,func.func(sdy-insert-explicit-reshards{enable-full-version=true}),canonicalize,func.func(sdy-reshard-to-collectives),sdy-close-shardings,sdy-convert-global-to-local,validate-spmd)' | filecheck %s

// A matrix product over a sharded dimension: Shardy makes two local ones and an all-reduce.
// CHECK: stablehlo.dot_general {{.*}} (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK: stablehlo.all_reduce
module @m {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(
      %x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>},
      %w: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>})
      -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
