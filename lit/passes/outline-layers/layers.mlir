// RUN: shardproof-opt %s --outline-layers=min-ops=2 | filecheck %s
// RUN: shardproof-opt %s --outline-layers | filecheck %s --check-prefix LONGER
// RUN: shardproof-opt %s --outline-layers=min-ops=2 --inline-calls | filecheck %s --check-prefix BACK

// Three equal layers, each with its own weights.
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>, %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[ONE:.*]] = call @layer(%[[X]], %[[A]])
// CHECK-NEXT: %[[TWO:.*]] = call @layer(%[[ONE]], %[[B]])
// CHECK-NEXT: %[[THREE:.*]] = call @layer(%[[TWO]], %[[C]])
// CHECK-NEXT: return %[[THREE]]
// CHECK: func.func private @layer(%[[P:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[P]], %[[W]]
// CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %[[S]]
// CHECK-NEXT: return %[[T]]

// By default a layer has at least four operations.
// LONGER-NOT: @layer

// Inlining is the way back.
// BACK-NOT: @layer
// BACK-COUNT-3: stablehlo.tanh
module @m {
  func.func @main(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %a : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = stablehlo.add %1, %b : tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    %4 = stablehlo.add %3, %c : tensor<4xf32>
    %5 = stablehlo.tanh %4 : tensor<4xf32>
    return %5 : tensor<4xf32>
  }
}
