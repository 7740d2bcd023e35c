// RUN: expect-exit 5 validate-hlo %s 2>&1 | filecheck %s
// CHECK: missing_path.mlir:4:1: error: {{.*}}nowhere.mlir: no such file or directory

"shardproof.problem"() {spec = "nowhere.mlir", impl = "nowhere.mlir", theory = "exact", expect = "PROVED"} : () -> ()
