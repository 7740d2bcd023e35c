// RUN: %dialect %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'shardproof.mesh' without 'sizes'}}
"shardproof.mesh"() {sym_name = "m", axes = ["x"]} : () -> ()

// -----

// expected-error@+1 {{'axes' is '3 : i64', expected #builtin.array}}
"shardproof.mesh"() {sym_name = "m", axes = 3, sizes = array<i64: 2>} : () -> ()

// -----

// expected-error@+1 {{'shardproof.mesh' with unknown 'shape'}}
"shardproof.mesh"() {sym_name = "m", axes = ["x"], sizes = array<i64: 2>, shape = 2} : () -> ()

// -----

// expected-error@+1 {{2 axes with 1 sizes}}
"shardproof.mesh"() {sym_name = "m", axes = ["x", "y"], sizes = array<i64: 2>} : () -> ()

// -----

// expected-error@+1 {{mesh axis names repeat}}
"shardproof.mesh"() {sym_name = "m", axes = ["x", "x"], sizes = array<i64: 2, 2>} : () -> ()

// -----

// expected-error@+1 {{mesh axis sizes must be positive}}
"shardproof.mesh"() {sym_name = "m", axes = ["x"], sizes = array<i64: -2>} : () -> ()

// -----

// expected-error@+1 {{'sizes' is no 'array<i64: …>'}}
"shardproof.mesh"() {sym_name = "m", axes = ["x"], sizes = array<i32: 2>} : () -> ()

// -----

// expected-error@+1 {{mesh lists a device twice}}
"shardproof.mesh"() {sym_name = "m", axes = ["x"], sizes = array<i64: 2>, device_ids = array<i64: 1, 1>} : () -> ()
