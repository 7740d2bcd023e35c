// What a plain mlir-opt finds wrong, by the definition alone. The same file goes through the native tool.
// REQUIRES: mlir-opt
// RUN: %mlir-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'shardproof.problem' op attribute "expect" is expected but not provided}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact"} : () -> ()

// -----

// expected-error@+1 {{'"RIGHT"' does not satisfy the constraint}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "RIGHT"} : () -> ()

// -----

// expected-error@+1 {{'3 : i64' does not satisfy the constraint}}
"shardproof.problem"() {spec = 3, impl = "b", theory = "exact", expect = "PROVED"} : () -> ()

// -----

// expected-error@+1 {{expected base attribute 'builtin.dense_array' but got 'builtin.array'}}
"shardproof.mesh"() {sym_name = "m", axes = ["x"], sizes = [2]} : () -> ()

// -----

// expected-error@+1 {{expected 3 type arguments, but had 2}}
"shardproof.relations"() {parameters = [#shardproof.shard_over<1, @m>]} : () -> ()

// -----

// expected-error@+1 {{expected base attribute 'builtin.integer' but got 'builtin.string'}}
"shardproof.relations"() {parameters = [#shardproof.shard<"x">]} : () -> ()

// -----

// expected-error@+1 {{op expects exactly 0 results, but got 1}}
%0 = "shardproof.relations"() : () -> i32

// -----

// expected-error@+1 {{unregistered operation 'shardproof.proof' found in dialect ('shardproof') that does not allow unknown operations}}
"shardproof.proof"() : () -> ()
