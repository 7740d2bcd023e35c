// Lemma *e-graph*: a new term is another term of the original that the rewrite rules find equal

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma e-graph 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.subtract %arg0, %arg1 : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.negate %arg1 : tensor<2xf32>
    %1 = stablehlo.add %0, %arg0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.subtract %arg0, %arg1 : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.negate %arg0 : tensor<2xf32>
    %1 = stablehlo.add %0, %arg1 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
