// RUN: shardproof-opt %s --inline-calls | filecheck %s

// A function that others may call from outside stays, and one of several results is inlined by position.
// CHECK: func.func @swap
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[Y]], %[[X]]
module @public {
  func.func @swap(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    return %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = call @swap(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
}
