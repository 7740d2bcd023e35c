// Relations of problems are spelled like those of relation files; assumptions are sorted.
// RUN: %dialect %s --canonicalize | filecheck %s

// CHECK: assume = ["indices-in-bounds", "relations-from-shapes"]
// CHECK-SAME: parameters = [#shardproof.replicated, unit]
// CHECK-SAME: results = [#shardproof.shard<0 : i64>]
"shardproof.problem"() {
  spec = "before.mlir", impl = "after.mlir", theory = "exact", expect = "PROVED",
  assume = ["relations-from-shapes", "indices-in-bounds"], parameters = ["replicated", unit], results = [{shard = 0}]
} : () -> ()
