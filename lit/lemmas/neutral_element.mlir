// Lemma *neutral element*: max(x, −inf) = x, x · 1 = x and the like at the points where an operand is the
// neutral element

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma neutral element 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.negate %arg0 : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<2xf32>
    %0 = stablehlo.maximum %arg0, %cst : tensor<2xf32>
    %1 = stablehlo.negate %0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %0 = stablehlo.negate %arg0 : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %0 = stablehlo.maximum %arg0, %cst : tensor<2xf32>
    %1 = stablehlo.negate %0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
