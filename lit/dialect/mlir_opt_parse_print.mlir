// Relation files with meshes of the dialect's own need nothing but the definition.
// REQUIRES: mlir-opt
// RUN: %mlir-opt %s | filecheck %s

// CHECK: "shardproof.mesh"() {axes = ["x", "y"], sizes = array<i64: 2, 4>, sym_name = "grid"} : () -> ()
"shardproof.mesh"() {sym_name = "grid", axes = ["x", "y"], sizes = array<i64: 2, 4>} : () -> ()

// CHECK-NEXT: "shardproof.relations"() {parameters = [#shardproof.replicated, #shardproof.shard<1 : i64>, "{devices=[2,4]<=[8]}"], results = [#shardproof.shard_over<0 : i64, @grid, ["y", "x"]>]} : () -> ()
"shardproof.relations"() {
  parameters = [#shardproof.replicated, #shardproof.shard<1>, "{devices=[2,4]<=[8]}"],
  results = [#shardproof.shard_over<0, @grid, ["y", "x"]>]
} : () -> ()
