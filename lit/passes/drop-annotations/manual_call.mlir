// RUN: shardproof-opt %s --drop-annotations | filecheck %s

// Manual regions written as calls: what enters, the call and what leaves tell how tensors are cut and by which axes.
// CHECK: stablehlo.custom_call @Sharding({{.*}}mhlo.sharding = "{mesh['a'=2], [{'a'}]}"
// CHECK-NEXT: stablehlo.custom_call @xla.sdy.GlobalToLocalShape({{.*}}mhlo.sharding = "{mesh['a'=2], manual}"
// CHECK-NEXT: call @xla.sdy.manual_computation_body({{.*}}mhlo.sharding = "{mesh['a'=2], manual}"
// CHECK-NEXT: stablehlo.custom_call @xla.sdy.LocalToGlobalShape({{.*}}mhlo.sharding = "{mesh['a'=2], [{'a'}]}"
module @m {
  func.func private @xla.sdy.manual_computation_body(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{mesh['a'=2], [{'a'}]}"} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%0) {mhlo.sharding = "{mesh['a'=2], manual}"}
        : (tensor<8xf32>) -> tensor<4xf32>
    %2 = call @xla.sdy.manual_computation_body(%1) {mhlo.sharding = "{mesh['a'=2], manual}"}
        : (tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%2) {mhlo.sharding = "{mesh['a'=2], [{'a'}]}"}
        : (tensor<4xf32>) -> tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}
