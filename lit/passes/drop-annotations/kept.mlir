// RUN: shardproof-opt %s --drop-annotations | filecheck %s

// A custom call of which nothing is known is no copy, whatever its types are.
// CHECK: stablehlo.custom_call @Mystery
// A sharding with unreduced axes is more than a wish for a layout.
// CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{}], unreduced={"a"}>
module @m {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = stablehlo.custom_call @Mystery(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = sdy.sharding_constraint %x <@mesh, [{}], unreduced={"a"}> : tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
