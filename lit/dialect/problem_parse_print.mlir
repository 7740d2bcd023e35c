// RUN: %dialect %s | filecheck %s

// CHECK: "builtin.module"() <{sym_name = "before"}> ({
// CHECK:   "stablehlo.add"(%[[X:.*]], %[[X]]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
module @before {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// CHECK: "builtin.module"() <{sym_name = "after"}> ({
// CHECK: }) {mhlo.num_partitions = 2 : i32} : () -> ()
module @after attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// CHECK: "shardproof.problem"() {expect = "PROVED", impl = @after, parameters = [#shardproof.shard<0 : i64>], proof = "exact", results = [#shardproof.shard<0 : i64>], spec = @before, sym_name = "doubled", theory = "real"} : () -> ()
"shardproof.problem"() {
  sym_name = "doubled", spec = @before, impl = @after, theory = "real", expect = "PROVED", proof = "exact",
  parameters = [#shardproof.shard<0 : i64>], results = [#shardproof.shard<0 : i64>]
} : () -> ()

// CHECK-NEXT: "shardproof.problem"() {assume = ["indices-in-bounds"], expect = "NOT_PROVED", impl = "after.mlir", spec = "before.mlir", theory = "exact"} : () -> ()
"shardproof.problem"() {spec = "before.mlir", impl = "after.mlir", theory = "exact", expect = "NOT_PROVED", assume = ["indices-in-bounds"]} : () -> ()
