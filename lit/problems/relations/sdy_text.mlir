// Shardy's attribute as text, for tools that do not know Shardy.

// RUN: expect-exit 0 validate-hlo %s --split-input-file | filecheck %s
// CHECK: PROVED (exact)
// CHECK: REFUTED

"shardproof.mesh"() {sym_name = "mesh", axes = ["x", "y"], sizes = array<i64: 2, 3>} : () -> ()
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "PROVED",
  parameters = ["#sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>"],
  results = ["#sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>"]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x6xf32>) -> tensor<6x6xf32> {
    %0 = stablehlo.negate %x : tensor<6x6xf32>
    return %0 : tensor<6x6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.negate %x : tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}

// -----

// The result is not held like that.
"shardproof.mesh"() {sym_name = "mesh", axes = ["x", "y"], sizes = array<i64: 2, 3>} : () -> ()
"shardproof.problem"() {
  spec = @before, impl = @after, theory = "exact", expect = "REFUTED",
  parameters = ["#sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>"],
  results = ["{devices=[2,3]<=[3,2]T(1,0)}"]
} : () -> ()
module @before {
  func.func public @main(%x: tensor<6x6xf32>) -> tensor<6x6xf32> {
    %0 = stablehlo.negate %x : tensor<6x6xf32>
    return %0 : tensor<6x6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.negate %x : tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}
