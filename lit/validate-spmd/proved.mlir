// RUN: shardproof-opt %s --pass-pipeline='builtin.module(inline-calls,cse,canonicalize,validate-spmd{theory=exact})' | filecheck %s

// Nothing is wrong, and the module goes on.
// CHECK: stablehlo.tanh
// CHECK-NOT: stablehlo.tanh
module @m {
  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.tanh %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
