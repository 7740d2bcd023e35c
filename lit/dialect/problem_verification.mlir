// RUN: %dialect %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'shardproof.problem' without 'expect'}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact"} : () -> ()

// -----

// expected-error@+1 {{'expect' is '"RIGHT"', expected "PROVED" or "REFUTED" or "NOT_PROVED" or "UNSUPPORTED"}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "RIGHT"} : () -> ()

// -----

// expected-error@+1 {{'theory' is '"float"', expected "exact" or "reassociated" or "real"}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "float", expect = "PROVED"} : () -> ()

// -----

// expected-error@+2 {{spec: no module '@a' at the top of the file}}
// expected-error@+1 {{impl: no module '@b' at the top of the file}}
"shardproof.problem"() {spec = @a, impl = @b, theory = "exact", expect = "PROVED"} : () -> ()

// -----

// expected-error@+1 {{unknown assumption 'no-overflow', expected one of 'indices-in-bounds', 'relations-from-shapes'}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "PROVED", assume = ["no-overflow"]} : () -> ()

// -----

// expected-error@below {{assumption 'indices-in-bounds' is named twice}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "PROVED", assume = ["indices-in-bounds", "indices-in-bounds"]} : () -> ()

// -----

// expected-error@below {{a proof in theory 'real' where 'exact' is the weakest to accept}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "PROVED", proof = "real"} : () -> ()

// -----

// expected-error@below {{a proof in theory 'exact' where REFUTED is expected}}
"shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "REFUTED", proof = "exact"} : () -> ()

// -----

"shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "PROVED"} : () -> ()
// expected-error@below {{'shardproof.relations' beside 'shardproof.problem'}}
"shardproof.relations"() : () -> ()

// -----

module @a {
  // expected-error@below {{'shardproof.problem' below the top of the file}}
  "shardproof.problem"() {spec = "a", impl = "b", theory = "exact", expect = "PROVED"} : () -> ()
}
module @b {}
