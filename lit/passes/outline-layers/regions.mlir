// RUN: shardproof-opt %s --outline-layers=min-ops=2 | filecheck %s

// Layers with regions; what a region reads from outside becomes an argument too.
// CHECK: call @layer(%{{.*}}, %[[P:.*]], %{{.*}})
// CHECK-NEXT: call @layer(%{{.*}}, %[[P]], %{{.*}})
// CHECK: func.func private @layer
// CHECK: stablehlo.if
module @m {
  func.func @main(%x: tensor<4xf32>, %p: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = "stablehlo.if"(%p) ({
      stablehlo.return %0 : tensor<4xf32>
    }, {
      stablehlo.return %a : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %2 = stablehlo.negate %1 : tensor<4xf32>
    %3 = "stablehlo.if"(%p) ({
      stablehlo.return %2 : tensor<4xf32>
    }, {
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
