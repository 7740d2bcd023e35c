// RUN: %dialect %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'shardproof.step' without a 'shardproof.certificate' at the start of the file}}
"shardproof.step"() {op = "stablehlo.add", position = 0} : () -> ()

// -----

// expected-error@+1 {{'shardproof.certificate' without 'seal'}}
"shardproof.certificate"() {version = 2, theory = "exact", results = [], assumptions = [], mesh = [], before = "", after = ""} : () -> ()

// -----

// expected-error@+1 {{a block without an end}}
"shardproof.certificate"() {version = 2, seal = "", theory = "exact", results = [], assumptions = [], mesh = [], before = "", after = ""} : () -> ()
"shardproof.block"() : () -> ()

// -----

"shardproof.certificate"() {version = 2, seal = "", theory = "exact", results = [], assumptions = [], mesh = [], before = "", after = ""} : () -> ()
// expected-error@+1 {{'of' is '"both"', expected "operand" or "result"}}
"shardproof.claim"() {of = "both", position = 0, monoid = "view", pieces = []} : () -> ()
