// Every verdict and every error of a file, expected where it stands; nothing is printed but verdicts.
// RUN: expect-exit 0 validate-hlo %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s
// CHECK: PROVED (exact)
// CHECK-NEXT: REFUTED
// CHECK-NEXT: REFUTED
// CHECK-NOT: error:

"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// What a refuted problem says may be expected, and need not be.
"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "REFUTED", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    // expected-error-re@+1 {{result 0 {{.*}}}}
    %0 = stablehlo.abs %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// expected-error@+1 {{expected PROVED, found REFUTED}}
"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED", parameters = [{shard = 0}], results = [{shard = 0}]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
module @after attributes {mhlo.num_partitions = 3 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    // expected-error-re@+1 {{result 0 {{.*}}}}
    %0 = stablehlo.abs %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// expected-error@below {{spec: no module '@before' at the top of the file}}
"shardproof.problem"() {spec = @before, impl = "x.mlir", theory = "exact", expect = "PROVED"} : () -> ()

// -----

// expected-error@+1 {{expected attribute name}}
"shardproof.problem"() {,} : () -> ()
