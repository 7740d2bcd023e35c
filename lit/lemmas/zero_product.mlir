// Lemma *zero product*: a product with the constant zero adds nothing to a sum of products

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma zero product 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "real", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<6x5xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x5xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    return %0 : tensor<4x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<6x5xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x5xf32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [0, 0], high = [0, 2], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x8xf32>
    %1 = stablehlo.slice %arg1 [0:2, 0:5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
    %2 = stablehlo.concatenate %arg1, %1, dim = 0 : (tensor<6x5xf32>, tensor<2x5xf32>) -> tensor<8x5xf32>
    %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    return %3 : tensor<4x5xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "real", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<6x5xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x5xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    return %0 : tensor<4x5xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<6x5xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x5xf32> {mhlo.sharding = "{replicated}"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [0, 0], high = [0, 2], interior = [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x8xf32>
    %1 = stablehlo.slice %arg1 [0:2, 0:5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
    %2 = stablehlo.concatenate %arg1, %1, dim = 0 : (tensor<6x5xf32>, tensor<2x5xf32>) -> tensor<8x5xf32>
    %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    return %3 : tensor<4x5xf32>
  }
}
