// Lemma *indices in bounds*: an unknown index of the original lies in the range in which it is not clamped

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma indices in bounds 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED", assume = ["indices-in-bounds"]} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<6> : tensor<i32>
    %0 = stablehlo.compare LT, %arg1, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.add %arg1, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<i1>, tensor<i32>
    %3 = stablehlo.dynamic_slice %arg0, %2, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
    return %3 : tensor<1xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED", assume = ["indices-in-bounds"]} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<1xf32> {mhlo.sharding = "{replicated}"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg1, %c : tensor<i32>
    %1 = stablehlo.dynamic_slice %arg0, %0, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
    return %1 : tensor<1xf32>
  }
}
