// An error in one part does not keep the others from being read, and all places are those of the whole file.
// RUN: expect-exit 1 %dialect %s --split-input-file 2>&1 | filecheck %s

// CHECK-DAG: syntax_errors.mlir:5:27: error: expected attribute name
"shardproof.relations"() {,} : () -> ()

// -----

// CHECK-DAG: "shardproof.relations"() {results = []} : () -> ()
"shardproof.relations"() {results = []} : () -> ()

// -----

// CHECK-DAG: syntax_errors.mlir:15:1: error: 'shardproof.nothing' is no operation of the dialect
"shardproof.nothing"() : () -> ()
