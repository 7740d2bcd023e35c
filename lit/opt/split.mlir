// RUN: shardproof-opt %s --split-input-file --general-dots | filecheck %s
// RUN: shardproof-opt %s --general-dots | filecheck %s --check-prefix WHOLE

// Each part is a module of its own; without the flag they are one input, which has modules inside.
// CHECK: module @first
// CHECK: // -----
// CHECK: module @second
// WHOLE-NOT: // -----
// WHOLE: module @second
// WHOLE-NOT: // -----
module @first {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module @second {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
