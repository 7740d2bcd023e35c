// RUN: shardproof-opt %s --drop-annotations | filecheck %s

// What returns its operand as it is goes: constraints, reshards, barriers, copies, and custom calls known to do so.
// CHECK: func.func @main(%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[X]], %[[Y]]
// CHECK-NEXT: return %[[SUM]]
module @m {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{"a"}]> : tensor<8xf32>
    %1 = sdy.reshard %y <@mesh, [{}]> : tensor<8xf32>
    %2:2 = stablehlo.optimization_barrier %0, %1 : tensor<8xf32>, tensor<8xf32>
    %3 = mhlo.copy %2#0 : tensor<8xf32>
    %4 = stablehlo.custom_call @Sharding(%2#1) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
    %5 = stablehlo.custom_call @annotate_device_placement(%4) : (tensor<8xf32>) -> tensor<8xf32>
    %6 = stablehlo.add %3, %5 : tensor<8xf32>
    return %6 : tensor<8xf32>
  }
}
