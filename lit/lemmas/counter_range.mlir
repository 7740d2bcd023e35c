// Lemma *counter range*: a carried integer lies in [c, n − 1] inside the body

// RUN: expect-exit 0 validate-hlo %s --split-input-file --stats 2>&1 | filecheck %s
// CHECK: {{^}}PROVED
// CHECK: {{^}}REFUTED

"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "PROVED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<16xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<6xf32>
    cond {
      %c_1 = stablehlo.constant dense<4> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.optimization_barrier %iterArg : tensor<i32>
      %3 = stablehlo.dynamic_slice %arg1, %2, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
      %4 = stablehlo.reshape %3 : (tensor<1xf32>) -> tensor<f32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<6xf32>
      %6 = stablehlo.add %iterArg_0, %5 : tensor<6xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %7, %6 : tensor<i32>, tensor<6xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<16xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<2xf32>
    cond {
      %c_1 = stablehlo.constant dense<4> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %2 = stablehlo.clamp %c_1, %iterArg, %c_2 : tensor<i32>
      %3 = stablehlo.dynamic_slice %arg1, %2, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
      %4 = stablehlo.reshape %3 : (tensor<1xf32>) -> tensor<f32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %6 = stablehlo.add %iterArg_0, %5 : tensor<2xf32>
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %7, %6 : tensor<i32>, tensor<2xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

// -----

// Without what the lemma needs.
"shardproof.problem"() {spec = @before, impl = @after, theory = "reassociated", expect = "REFUTED"} : () -> ()
module @before attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<16xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<6xf32>
    cond {
      %c_1 = stablehlo.constant dense<4> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.optimization_barrier %iterArg : tensor<i32>
      %3 = stablehlo.dynamic_slice %arg1, %2, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
      %4 = stablehlo.reshape %3 : (tensor<1xf32>) -> tensor<f32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<6xf32>
      %6 = stablehlo.add %iterArg_0, %5 : tensor<6xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %7, %6 : tensor<i32>, tensor<6xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}, %arg1: tensor<16xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<2xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<2xf32>
    cond {
      %c_1 = stablehlo.constant dense<4> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %c_2 = stablehlo.constant dense<2> : tensor<i32>
      %2 = stablehlo.clamp %c_1, %iterArg, %c_2 : tensor<i32>
      %3 = stablehlo.dynamic_slice %arg1, %2, sizes = [1] : (tensor<16xf32>, tensor<i32>) -> tensor<1xf32>
      %4 = stablehlo.reshape %3 : (tensor<1xf32>) -> tensor<f32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %6 = stablehlo.add %iterArg_0, %5 : tensor<2xf32>
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %7, %6 : tensor<i32>, tensor<2xf32>
    }
    %1 = stablehlo.optimization_barrier %0#1 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
