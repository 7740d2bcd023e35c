// RUN: shardproof-opt %s --fold-partition-tables --split-input-file | filecheck %s

// The upper digit of the partition's number: a quotient.
// CHECK: module @upper
// CHECK-DAG: %[[P:.*]] = stablehlo.partition_id
// CHECK-DAG: %[[FOUR:.*]] = stablehlo.constant dense<4> : tensor<ui32>
// CHECK: %[[Q:.*]] = stablehlo.divide %[[P]], %[[FOUR]] : tensor<ui32>
// CHECK-NEXT: %[[I:.*]] = stablehlo.convert %[[Q]] : (tensor<ui32>) -> tensor<i32>
// CHECK-NEXT: %[[W:.*]] = stablehlo.constant dense<16> : tensor<i32>
// CHECK-NEXT: stablehlo.multiply %[[I]], %[[W]] : tensor<i32>
// CHECK-NOT: stablehlo.dynamic_slice
module @upper attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[0, 0, 0, 0, 16, 16, 16, 16]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}

// -----

// The lower digit: a remainder.
// CHECK: module @lower
// CHECK: stablehlo.remainder
// CHECK-NOT: stablehlo.divide
// CHECK-NOT: stablehlo.dynamic_slice
module @lower attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[0, 3, 6, 9, 0, 3, 6, 9]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}

// -----

// The middle digit of three: both.
// CHECK: module @middle
// CHECK: stablehlo.divide
// CHECK: stablehlo.remainder
// CHECK-NOT: stablehlo.dynamic_slice
module @middle attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[0, 0, 5, 5, 0, 0, 5, 5]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}
