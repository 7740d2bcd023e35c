// Optional attributes, which IRDL cannot describe, are checked by a pass of the native tool.
// REQUIRES: native-opt
// RUN: %native-opt %s --split-input-file --verify-diagnostics --shardproof-verify --allow-unregistered-dialect

// expected-error@+1 {{'parameters' is '3 : i64', expected "#builtin.array"}}
"shardproof.relations"() {parameters = 3} : () -> ()

// -----

// expected-error@+1 {{'shardproof.relations' with unknown 'inputs'}}
"shardproof.relations"() {inputs = []} : () -> ()

// -----

"shardproof.relations"() {parameters = [], other.note = 3} : () -> ()
