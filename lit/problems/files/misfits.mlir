// Relations that do not fit the programs are refused at the problem.
// RUN: expect-exit 5 validate-hlo %s --split-input-file 2>&1 | filecheck %s
// CHECK: misfits.mlir:6:1: error: results: relations for 2 results, the programs have 1
// CHECK: misfits.mlir:23:1: error: parameters[0] (parameter 0): '{replicated}' makes [6] of [6], the device's is [2]

"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED", parameters = [{shard = 0}], results = [unit, unit]} : () -> ()
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


"shardproof.problem"() {spec = @before, impl = @after, theory = "exact", expect = "PROVED", parameters = ["replicated"], results = [unit]} : () -> ()
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
