// RUN: expect-exit 1 shardproof-opt %s --split-input-file -o %t.mlir 2>&1 | filecheck %s --check-prefix ERROR
// RUN: filecheck %s --input-file %t.mlir

// An error in one part does not keep the others from being processed; lines are those of the whole file.
// ERROR: split_errors.mlir:20:{{[0-9]+}}: error: {{.*}}'stablehlo.nonsense'
// ERROR-NOT: error
// CHECK: module @first
// CHECK-NOT: module @second
// CHECK: module @third
module @first {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module @second {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.nonsense %x : tensor<4xf32>
    return %x : tensor<4xf32>
  }
}

// -----

module @third {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
