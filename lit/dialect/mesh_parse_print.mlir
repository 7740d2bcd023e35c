// RUN: %dialect %s | filecheck %s

// CHECK: "shardproof.mesh"() {axes = ["x", "y"], sizes = array<i64: 2, 4>, sym_name = "grid"} : () -> ()
"shardproof.mesh"() {sym_name = "grid", axes = ["x", "y"], sizes = array<i64: 2, 4>} : () -> ()

// CHECK-NEXT: "shardproof.mesh"() {axes = ["z"], device_ids = array<i64: 2, 0, 1>, sizes = array<i64: 3>, sym_name = "line"} : () -> ()
"shardproof.mesh"() {sym_name = "line", axes = ["z"], sizes = array<i64: 3>, device_ids = array<i64: 2, 0, 1>} : () -> ()

// CHECK-NEXT: "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "of_shardy"}> : () -> ()
sdy.mesh @of_shardy = <["x"=2]>
