// RUN: shardproof-opt %s --pass-pipeline='builtin.module(cse,general-dots)' --print-ir-after-all 2>&1 >/dev/null | filecheck %s

// CHECK: // -----// IR Dump After cse //----- //
// CHECK-COUNT-1: stablehlo.negate
// CHECK: // -----// IR Dump After general-dots //----- //
// CHECK-COUNT-1: stablehlo.negate
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = stablehlo.negate %x : tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
