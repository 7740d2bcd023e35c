// RUN: shardproof-opt %s --inline-calls | filecheck %s

// A private function goes once nothing calls it.
// CHECK-NOT: @double
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[ONCE:.*]] = stablehlo.add %[[X]], %[[X]]
// CHECK-NEXT: %[[TWICE:.*]] = stablehlo.add %[[ONCE]], %[[ONCE]]
// CHECK-NEXT: return %[[TWICE]]
module @twice {
  func.func private @double(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
