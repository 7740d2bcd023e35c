// Programs in files of their own, by paths relative to this one.
// RUN: expect-exit 0 validate-hlo %s | filecheck %s
// CHECK: PROVED (exact)  {{.*}}doubled.mlir → {{.*}}doubled_on_three.mlir

"shardproof.problem"() {
  spec = "Inputs/doubled.mlir", impl = "Inputs/doubled_on_three.mlir", theory = "exact", expect = "PROVED",
  parameters = [{shard = 0}], results = [{shard = 0}]
} : () -> ()
