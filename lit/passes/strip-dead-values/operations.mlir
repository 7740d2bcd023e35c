// RUN: shardproof-opt %s --strip-dead-values | filecheck %s

// Chains of unused operations, collectives among them; uncalled private functions.
// CHECK: module @m
// CHECK-NEXT: func.func @main(%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = stablehlo.abs %[[X]]
// CHECK-NEXT: return %[[Y]]
// CHECK-NEXT: }
// CHECK-NEXT: }
module @m {
  func.func private @unused(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @below(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @below(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}>
        : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.custom_call @Mystery(%1) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = call @below(%2) : (tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.abs %x : tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}
