// What IRDL checks of any operation, checked without IRDL.
// RUN: %dialect %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'shardproof.proof' is no operation of the dialect}}
"shardproof.proof"() : () -> ()

// -----

// expected-error@+1 {{'shardproof.relations' with 1 results}}
%0 = "shardproof.relations"() : () -> i32

// -----

%0 = "a.value"() : () -> i32
// expected-error@+1 {{'shardproof.relations' with 1 operands}}
"shardproof.relations"(%0) : (i32) -> ()

// -----

// expected-error@+1 {{'shardproof.relations' with 1 regions}}
"shardproof.relations"() ({
  "a.end"() : () -> ()
}) : () -> ()

// -----

// Another dialect's attributes may stand on any operation.
"shardproof.relations"() {other.note = 3} : () -> ()
