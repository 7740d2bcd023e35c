// RUN: shardproof-opt %s --pass-pipeline='builtin.module(inline-calls, func.func(cse), strip-dead-values)' | filecheck %s
// RUN: cat %s | shardproof-opt --pass-pipeline='builtin.module(cse)' - | filecheck %s
// RUN: cat %s | shardproof-opt --pass-pipeline='builtin.module(cse)' | filecheck %s

// Passes of ours and of jaxlib in one pipeline; from a file, '-' and nothing.
// CHECK: %[[N:.*]] = stablehlo.negate
// CHECK-NEXT: stablehlo.add %[[N]], %[[N]]
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = stablehlo.negate %x : tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
