// A fused weight, each device holding its part of both blocks. No sharding says so; the relation file does.

// RUN: expect-exit 4 validate-hlo %s %S/Inputs/fused_on_three.mlir | filecheck %s --check-prefix WITHOUT
// WITHOUT: UNSUPPORTED

// RUN: expect-exit 0 validate-hlo %s %S/Inputs/fused_on_three.mlir --relations %S/Inputs/blocks.mlir 2>&1 | filecheck %s
// CHECK: PROVED (exact)
// CHECK-NEXT: note: the relations of 2 parameters and 1 results were given by hand in '{{.*}}blocks.mlir'

// The same in pieces of affine maps.
// RUN: expect-exit 0 validate-hlo %s %S/Inputs/fused_on_three.mlir --relations %S/Inputs/pieces.mlir | filecheck %s --check-prefix PIECES
// PIECES: PROVED (exact)

// Cut without regard to the blocks, the programs differ.
// RUN: expect-exit 1 validate-hlo %s %S/Inputs/fused_on_three.mlir --relations %S/Inputs/plain.mlir --replay %t.py 2>&1 | filecheck %s --check-prefix PLAIN
// PLAIN: REFUTED
// PLAIN: counterexample: output 0
// RUN: expect-exit 1 %python %t.py | filecheck %s --check-prefix REPLAY
// REPLAY: output 0, device
// REPLAY-NEXT: expected
// REPLAY-NEXT: got

// From shapes alone it is the same plain cut, and assumed.
// RUN: expect-exit 1 validate-hlo %s %S/Inputs/fused_on_three.mlir --infer-relations --replay %t.py 2>&1 | filecheck %s --check-prefix SHAPES
// SHAPES: REFUTED (assuming relations-from-shapes)
// SHAPES: {{first value without a relation|likely at fault}}: {{.*}} = stablehlo.slice
// SHAPES: from shapes alone: parameter 1 on dimension 1, result 0 on dimension 1
// RUN: expect-exit 1 %python %t.py | filecheck %s --check-prefix REPLAY

// RUN: expect-exit 5 validate-hlo %s %S/Inputs/fused_on_three.mlir --relations %S/Inputs/too_many.mlir 2>&1 | filecheck %s --check-prefix COUNT
// COUNT: {{.*}}too_many.mlir:1:1: error: parameters: relations for 3 parameters, the programs have 2

// RUN: expect-exit 2 validate-hlo --xla-dump %S --relations %S/Inputs/blocks.mlir 2>&1 | filecheck %s --check-prefix USAGE
// USAGE: --relations takes one pair and does not go with --xla-dump

module @fused {
  func.func public @main(%x: tensor<6x5xf32>, %w: tensor<5x24xf32>) -> tensor<6x12xf32> {
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x5xf32>, tensor<5x24xf32>) -> tensor<6x24xf32>
    %a = stablehlo.slice %y [0:6, 0:12] : (tensor<6x24xf32>) -> tensor<6x12xf32>
    %b = stablehlo.slice %y [0:6, 12:24] : (tensor<6x24xf32>) -> tensor<6x12xf32>
    %g = stablehlo.logistic %a : tensor<6x12xf32>
    %r = stablehlo.multiply %g, %b : tensor<6x12xf32>
    return %r : tensor<6x12xf32>
  }
}
