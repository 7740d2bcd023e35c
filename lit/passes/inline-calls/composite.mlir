// RUN: shardproof-opt %s --inline-calls | filecheck %s

// A composite is what its decomposition computes.
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: stablehlo.exponential %[[X]]
// CHECK-NOT: stablehlo.composite
module @composite {
  func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.exponential %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.composite "a.b" %x {decomposition = @body} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
