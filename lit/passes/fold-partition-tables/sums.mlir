// RUN: shardproof-opt %s --fold-partition-tables --split-input-file | filecheck %s

// Two digits in the other order, and a start: 7 + 2·(p / 4) + 10·(p mod 4).
// CHECK: module @transposed
// CHECK: stablehlo.constant dense<7> : tensor<i32>
// CHECK: stablehlo.divide
// CHECK: stablehlo.constant dense<2> : tensor<i32>
// CHECK: stablehlo.add
// CHECK: stablehlo.remainder
// CHECK: stablehlo.constant dense<10> : tensor<i32>
// CHECK-NOT: stablehlo.dynamic_slice
module @transposed attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[7, 17, 27, 37, 9, 19, 29, 39]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}

// -----

// Six partitions as 2·3 and not as 3·2.
// CHECK: module @six
// CHECK: stablehlo.constant dense<3> : tensor<ui32>
// CHECK-NOT: stablehlo.dynamic_slice
module @six attributes {mhlo.num_partitions = 6 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[0, 4, 8, 0, 4, 8]> : tensor<6xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<6xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}

// -----

// Falling numbers: the coefficient is negative.
// CHECK: module @falling
// CHECK: stablehlo.constant dense<-1> : tensor<i32>
// CHECK-NOT: stablehlo.dynamic_slice
module @falling attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> tensor<1xi32> {
    %t = stablehlo.constant dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi32>, tensor<ui32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
}

// -----

// The same everywhere: a constant, and the partition's number is not asked for.
// CHECK: module @same
// CHECK: stablehlo.constant dense<5> : tensor<i64>
// CHECK-NOT: stablehlo.partition_id
module @same attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> tensor<1xi64> {
    %t = stablehlo.constant dense<[5, 5, 5, 5, 5, 5, 5, 5]> : tensor<8xi64>
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = stablehlo.dynamic_slice %t, %p, sizes = [1] : (tensor<8xi64>, tensor<ui32>) -> tensor<1xi64>
    return %0 : tensor<1xi64>
  }
}
