// RUN: shardproof-opt %s --inline-calls --mlir-print-debuginfo | filecheck %s

// What comes from a called function tells the call as well.
// CHECK: stablehlo.negate
// CHECK-SAME: loc(#[[AT:.*]])
// CHECK: #[[AT]] = loc(callsite(#[[INNER:.*]] at #[[CALL:.*]]))
module @located {
  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %a : tensor<4xf32> loc("model.py":3:1)
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":8:1)
    return %0 : tensor<4xf32>
  }
}
