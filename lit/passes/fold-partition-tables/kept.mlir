// RUN: shardproof-opt %s --fold-partition-tables --split-input-file | filecheck %s

// No digits of any mesh give these numbers.
// CHECK: module @irregular
// CHECK: stablehlo.dynamic_slice
module @irregular attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[0, 1, 3, 2, 7, 6, 5, 4]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}

// -----

// How many partitions there are is not said: the last ones might all read the last element.
// CHECK: module @unknown
// CHECK: stablehlo.dynamic_slice
module @unknown {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[0, 0, 0, 0, 1, 1, 1, 1]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}

// -----

// More partitions than elements: partitions 8 to 15 all read element 7.
// CHECK: module @clamped
// CHECK: stablehlo.dynamic_slice
module @clamped attributes {mhlo.num_partitions = 16 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}
