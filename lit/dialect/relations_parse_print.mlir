// What is read is printed as it is; only --canonicalize changes spellings.
// RUN: %dialect %s --split-input-file | filecheck %s

// CHECK: "shardproof.relations"() : () -> ()
"shardproof.relations"() : () -> ()

// -----

// CHECK: // -----
// CHECK: "shardproof.relations"() {parameters = [unit, "replicated", {shard = 1 : i64}], results = []} : () -> ()
"shardproof.relations"() {parameters = [unit, "replicated", {shard = 1}], results = []} : () -> ()

// -----

// CHECK: #map = affine_map<(d0, d1)[s0] -> (d1 + d0 * s0)>
// CHECK: #set = affine_set<(d0, d1) : (-d1 + 3 >= 0, d0 == 0)>
// CHECK: parameters = [#map, [{domain = #set, map = #map}]]
"shardproof.relations"() {parameters = [
  affine_map<(d, i)[n] -> (i + d * n)>,
  [{map = affine_map<(d, i)[n] -> (i + d * n)>, domain = affine_set<(d, i) : (3 - i >= 0, d == 0)>}]
]} : () -> ()

// -----

// CHECK: "shardproof.mesh"
// CHECK: results = [#shardproof.shard_over<0 : i64, @m, ["x"]>, #sdy.sharding<@m, [{"x"}]>]
"shardproof.mesh"() {sym_name = "m", axes = ["x"], sizes = array<i64: 2>} : () -> ()
"shardproof.relations"() {results = [#shardproof.shard_over<0 : i64, @m, ["x"]>, #sdy.sharding<@m, [{"x"}]>]} : () -> ()
