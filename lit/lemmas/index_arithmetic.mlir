// Lemma *index arithmetic*: an integer op on INT[a1], …, INT[ak] is INT[f(a1, …, ak)], wrap-around included
// Lemma *constant folding*: a small integer value that depends on no input is what the reference evaluator gives
// for every device

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma index arithmetic 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<27xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<27xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.iota dim = 0 : tensor<27xi32>
    %1 = stablehlo.add %0, %arg0 : tensor<27xi32>
    return %1 : tensor<27xi32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<9xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<9xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<[0, 9, 18]> : tensor<3xi32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.dynamic_slice %c, %0, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<9xi32>
    %4 = stablehlo.iota dim = 0 : tensor<9xi32>
    %5 = stablehlo.add %4, %3 : tensor<9xi32>
    %6 = stablehlo.add %5, %arg0 : tensor<9xi32>
    return %6 : tensor<9xi32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<27xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<27xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.iota dim = 0 : tensor<27xi32>
    %1 = stablehlo.add %0, %arg0 : tensor<27xi32>
    return %1 : tensor<27xi32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<9xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<9xi32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<[0, 8, 16]> : tensor<3xi32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.dynamic_slice %c, %0, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<9xi32>
    %4 = stablehlo.iota dim = 0 : tensor<9xi32>
    %5 = stablehlo.add %4, %3 : tensor<9xi32>
    %6 = stablehlo.add %5, %arg0 : tensor<9xi32>
    return %6 : tensor<9xi32>
  }
}
