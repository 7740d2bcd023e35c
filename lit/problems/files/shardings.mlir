// Where a problem lists no relations or `unit`, the programs' shardings hold.
// RUN: expect-exit 0 validate-hlo %s --split-input-file 2>&1 | filecheck %s
// CHECK: PROVED (exact)
// CHECK: PROVED (exact)

"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED"} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
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

"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED", parameters = [unit], results = [unit]} : () -> ()
module @before {
  func.func public @main(%x: tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) -> (tensor<6xf32> {mhlo.sharding = "{devices=[3]<=[3]}"}) {
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
