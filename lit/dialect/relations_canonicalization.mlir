// Every relation has one spelling, and what has it stays as it is.
// RUN: %dialect %s --canonicalize | filecheck %s
// RUN: %dialect %s --canonicalize > %t
// RUN: %dialect %t --canonicalize | diff %t -

// CHECK-DAG: #[[MAP:.*]] = affine_map<(d0, d1) -> (d0 * 4 + d1)>
sdy.mesh @m = <["x"=2, "y"=2]>
"shardproof.relations"() {parameters = [
  // CHECK: parameters = [#shardproof.replicated, #shardproof.replicated,
  "replicated", #shardproof.replicated,
  // CHECK-SAME: #shardproof.shard<1 : i64>, #shardproof.shard<1 : i64>,
  {shard = 1}, #shardproof.shard<1>,
  // CHECK-SAME: #shardproof.shard_over<1 : i64, @m, ["x"]>, #shardproof.shard_over<0 : i64, @m, ["y", "x"]>,
  {shard = 1, axis = "x"}, {shard = 0, axis = ["y", "x"]},
  // CHECK-SAME: #shardproof.shard_blocks<0 : i64, [4, 8]>,
  {shard = 0, blocks = [4, 8]},
  // CHECK-SAME: #sdy.sharding<@m, [{"x"}]>, "{devices=[2,1]<=[2]}",
  "#sdy.sharding<@m, [{\"x\"}]>", "{devices=[2,1]<=[2]}",
  // CHECK-SAME: [{map = #[[MAP]]}], [{map = #[[MAP]]}], [{map = #[[MAP]]}],
  affine_map<(d, i) -> (4 * d + i)>, {map = affine_map<(d, i) -> (4 * d + i)>}, [{map = affine_map<(d, i) -> (d * 4 + i)>}],
  // CHECK-SAME: {count = 2 : i64, repeat = [#shardproof.shard<0 : i64>, unit]}]
  {repeat = [{shard = 0}, unit], count = 2}
]} : () -> ()
