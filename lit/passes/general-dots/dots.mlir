// RUN: shardproof-opt %s --general-dots | filecheck %s

// Matrices, a matrix and a vector, two vectors; what is said of precision stays.
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT]
// CHECK-SAME: (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK: stablehlo.dot_general {{.*}}contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
// CHECK: stablehlo.dot_general {{.*}}contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// CHECK-NOT: stablehlo.dot{{ }}
module @m {
  func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %v: tensor<3xf32>)
      -> (tensor<2x4xf32>, tensor<2xf32>, tensor<f32>) {
    %0 = stablehlo.dot %a, %b, precision = [HIGHEST, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.dot %a, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
    %2 = stablehlo.dot %v, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    return %0, %1, %2 : tensor<2x4xf32>, tensor<2xf32>, tensor<f32>
  }
}
