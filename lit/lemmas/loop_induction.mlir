// Lemma *loop induction*: two loops run equally often and their carried values stay related through H

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}lemma loop induction 
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<6xf32>
    cond {
      %c_1 = stablehlo.constant dense<5> : tensor<i32>
      %2 = stablehlo.minimum %arg1, %c_1 : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %2 = stablehlo.sine %iterArg_0 : tensor<6xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<6xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<2xf32>
    cond {
      %c_1 = stablehlo.constant dense<5> : tensor<i32>
      %2 = stablehlo.minimum %arg1, %c_1 : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %2 = stablehlo.sine %iterArg_0 : tensor<2xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<2xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<6xf32>
    cond {
      %c_1 = stablehlo.constant dense<5> : tensor<i32>
      %2 = stablehlo.minimum %arg1, %c_1 : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %2 = stablehlo.sine %iterArg_0 : tensor<6xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<6xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<i32> {mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<2xf32>
    cond {
      %c_1 = stablehlo.constant dense<5> : tensor<i32>
      %2 = stablehlo.minimum %arg1, %c_1 : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %2 = stablehlo.cosine %iterArg_0 : tensor<2xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<2xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
