// RUN: %dialect %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'parameters' is '3 : i64', expected #builtin.array}}
"shardproof.relations"() {parameters = 3} : () -> ()

// -----

// expected-error@+1 {{'shardproof.relations' with unknown 'inputs'}}
"shardproof.relations"() {inputs = []} : () -> ()

// -----

// expected-error@+1 {{parameters[1]: unknown relation 'whole'}}
"shardproof.relations"() {parameters = ["replicated", "whole"]} : () -> ()

// -----

// expected-error@+1 {{results[0]: '#shardproof.cut<0>' is no attribute of the dialect}}
"shardproof.relations"() {results = [#shardproof.cut<0>]} : () -> ()

// -----

// expected-error@+1 {{parameters[0]: '#shardproof.shard<0, 1>' has 2 parameters instead of 1}}
"shardproof.relations"() {parameters = [#shardproof.shard<0, 1>]} : () -> ()

// -----

// expected-error@+1 {{dimension is no '#builtin.integer'}}
"shardproof.relations"() {parameters = [#shardproof.shard<"rows">]} : () -> ()

// -----

// expected-error@+1 {{parameters[0].repeat[1]: dimension -1 is negative}}
"shardproof.relations"() {parameters = [{repeat = ["replicated", {shard = -1}]}]} : () -> ()

// -----

// expected-error@+1 {{parameters[0].repeat[0]: a repetition in a repetition}}
"shardproof.relations"() {parameters = [{repeat = [{repeat = []}]}]} : () -> ()

// -----

// expected-error@+1 {{parameters[0]: unknown key 'of'}}
"shardproof.relations"() {parameters = [{shard = 0, of = 2}]} : () -> ()

// -----

// expected-error@+1 {{parameters[0]: 'blocks' and 'axis' do not go together}}
"shardproof.relations"() {parameters = [{shard = 0, blocks = [2], axis = "x"}]} : () -> ()

// -----

// expected-error@+1 {{parameters[0]: unknown mesh '@m'}}
"shardproof.relations"() {parameters = [#shardproof.shard_over<0, @m, ["x"]>]} : () -> ()

// -----

"shardproof.mesh"() {sym_name = "m", axes = ["x"], sizes = array<i64: 2>} : () -> ()
// expected-error@+1 {{parameters[0]: the mesh has no axis 'y'}}
"shardproof.relations"() {parameters = [{shard = 0, axis = "y"}]} : () -> ()

// -----

// expected-error@+1 {{parameters[0]: piece 0 has a map of 2 dimensions and a domain of 3}}
"shardproof.relations"() {parameters = [
  [{map = affine_map<(d, i) -> (i)>, domain = affine_set<(d, i, j) : (j >= 0)>}]
]} : () -> ()

// -----

// expected-error@+1 {{parameters[0]: map with 2 symbols; the only one is the number of devices}}
"shardproof.relations"() {parameters = [affine_map<(d, i)[n, m] -> (n + m)>]} : () -> ()

// -----

"shardproof.relations"() {parameters = []} : () -> ()
// expected-error@+1 {{a second 'shardproof.relations'}}
"shardproof.relations"() {results = []} : () -> ()
