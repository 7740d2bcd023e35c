// RUN: expect-exit 0 validate-hlo --no-confirm %s 2>&1 | filecheck %s

// The ring runs the other way round.
// CHECK: REFUTED
// CHECK: error: blocks are exchanged between the wrong devices

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.slice %arg0 [0:4] : (tensor<6xf32>) -> tensor<4xf32>
    %1 = stablehlo.slice %arg0 [4:6] : (tensor<6xf32>) -> tensor<2xf32>
    %2 = stablehlo.concatenate %1, %0, dim = 0 : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
    return %2 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [0, 2]]> : tensor<3x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
