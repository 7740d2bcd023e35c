// Lemma *updates in order*: an element and the updates that may land on it, taken in order, give what the
// original's same sequence gives

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma updates in order 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<3x1xi32> {mhlo.sharding = "{replicated}"}, %arg2: tensor<3x2xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<12x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<12x2xf32>
    return %0 : tensor<12x2xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<3x1xi32> {mhlo.sharding = "{replicated}"}, %arg2: tensor<3x2xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %c = stablehlo.constant dense<[0, 4, 8]> : tensor<3xi32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.dynamic_slice %c, %0, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xi32>) -> tensor<3x1xi32>
    %3 = stablehlo.subtract %arg1, %2 : tensor<3x1xi32>
    %4 = "stablehlo.scatter"(%arg0, %3, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    return %4 : tensor<4x2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<3x1xi32> {mhlo.sharding = "{replicated}"}, %arg2: tensor<3x2xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<12x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<12x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<12x2xf32>
    return %0 : tensor<12x2xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}, %arg1: tensor<3x1xi32> {mhlo.sharding = "{replicated}"}, %arg2: tensor<3x2xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
    %c = stablehlo.constant dense<[1, 5, 9]> : tensor<3xi32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.dynamic_slice %c, %0, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<1xi32>) -> tensor<3x1xi32>
    %3 = stablehlo.subtract %arg1, %2 : tensor<3x1xi32>
    %4 = "stablehlo.scatter"(%arg0, %3, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    return %4 : tensor<4x2xf32>
  }
}
