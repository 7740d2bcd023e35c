// RUN: shardproof-opt %s --inline-calls | filecheck %s

// Calls in called functions, and in the body of a loop.
// CHECK: func.func @main
// CHECK: do
// CHECK-NEXT: %[[N:.*]] = stablehlo.negate
// CHECK-NEXT: stablehlo.abs %[[N]]
// CHECK-NOT: call @
module @nested {
  func.func private @outer(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %a : tensor<4xf32>
    %1 = call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.abs %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>, %go: tensor<i1>) -> tensor<4xf32> {
    %0:2 = stablehlo.while(%a = %x, %b = %go) : tensor<4xf32>, tensor<i1>
    cond {
      stablehlo.return %b : tensor<i1>
    } do {
      %1 = func.call @outer(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = stablehlo.not %b : tensor<i1>
      stablehlo.return %1, %2 : tensor<4xf32>, tensor<i1>
    }
    return %0#0 : tensor<4xf32>
  }
}
