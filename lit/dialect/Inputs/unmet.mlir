// Nothing expects this one.

"shardproof.relations"() {a} : () -> ()

// -----

// expected-error@+1 {{with unknown 'b'}}
"shardproof.relations"() : () -> ()

// -----

// expected-error-re@+1 {{with unknown '{{[a-c]}}'}}
"shardproof.relations"() {c} : () -> ()

// -----

"shardproof.relations"() {d} : () -> () // expected-error {{unknown 'd'}}
