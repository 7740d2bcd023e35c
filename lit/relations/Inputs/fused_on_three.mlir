module @fused attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<6x5xf32>, %w: tensor<5x8xf32>) -> tensor<6x4xf32> {
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>
    %a = stablehlo.slice %y [0:6, 0:4] : (tensor<6x8xf32>) -> tensor<6x4xf32>
    %b = stablehlo.slice %y [0:6, 4:8] : (tensor<6x8xf32>) -> tensor<6x4xf32>
    %g = stablehlo.logistic %a : tensor<6x4xf32>
    %r = stablehlo.multiply %g, %b : tensor<6x4xf32>
    return %r : tensor<6x4xf32>
  }
}
