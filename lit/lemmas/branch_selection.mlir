// Lemma *branch selection*: the result of a branching op is, element by element, the value of the branch that
// the index chooses

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma branch selection 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i1> {mhlo.sharding = "{replicated}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = "stablehlo.if"(%arg1) ({
      %1 = stablehlo.negate %arg0 : tensor<6xf32>
      stablehlo.return %1 : tensor<6xf32>
    }, {
      %1 = stablehlo.exponential %arg0 : tensor<6xf32>
      stablehlo.return %1 : tensor<6xf32>
    }) : (tensor<i1>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i1> {mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = "stablehlo.if"(%arg1) ({
      %1 = stablehlo.negate %arg0 : tensor<2xf32>
      stablehlo.return %1 : tensor<2xf32>
    }, {
      %1 = stablehlo.exponential %arg0 : tensor<2xf32>
      stablehlo.return %1 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i1> {mhlo.sharding = "{replicated}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = "stablehlo.if"(%arg1) ({
      %1 = stablehlo.negate %arg0 : tensor<6xf32>
      stablehlo.return %1 : tensor<6xf32>
    }, {
      %1 = stablehlo.exponential %arg0 : tensor<6xf32>
      stablehlo.return %1 : tensor<6xf32>
    }) : (tensor<i1>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i1> {mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = "stablehlo.if"(%arg1) ({
      %1 = stablehlo.exponential %arg0 : tensor<2xf32>
      stablehlo.return %1 : tensor<2xf32>
    }, {
      %1 = stablehlo.negate %arg0 : tensor<2xf32>
      stablehlo.return %1 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
