// RUN: shardproof-opt %s --outline-layers=min-ops=2 | filecheck %s

// Each collective has a channel of its own, which is no difference; a value used after its layer is a result of it.
// CHECK: %[[ONE:.*]]:2 = call @layer(%{{.*}})
// CHECK-NEXT: %[[TWO:.*]]:2 = call @layer(%[[ONE]]#1)
// CHECK-NEXT: stablehlo.add %[[ONE]]#0, %[[TWO]]#1
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    %4 = stablehlo.add %0, %3 : tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}
