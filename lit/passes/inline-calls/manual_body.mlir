// RUN: shardproof-opt %s --inline-calls | filecheck %s

// What a manual region computes stands in a function of its own; calls inside of it are no different from others.
// CHECK: func.func private @xla.sdy.manual_computation_body(%[[X:.*]]: tensor<2xf32>)
// CHECK-NEXT: stablehlo.negate %[[X]]
// CHECK: func.func @main
// CHECK-NEXT: stablehlo.custom_call @xla.sdy.GlobalToLocalShape
// CHECK-NEXT: call @xla.sdy.manual_computation_body
// CHECK-NEXT: stablehlo.custom_call @xla.sdy.LocalToGlobalShape
// CHECK-NOT: @negated
module @manual_body {
  func.func private @negated(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %a : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @xla.sdy.manual_computation_body(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = call @negated(%a) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%x) : (tensor<4xf32>) -> tensor<2xf32>
    %1 = call @xla.sdy.manual_computation_body(%0) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1) : (tensor<2xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
