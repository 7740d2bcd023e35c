// RUN: shardproof-opt %s -o %t.mlir | %python -c "import sys; sys.exit(bool(sys.stdin.read()))"
// RUN: filecheck %s --input-file %t.mlir

// The module goes to the file and not to stdout.
// CHECK: stablehlo.add
module @m {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = stablehlo.negate %x : tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
