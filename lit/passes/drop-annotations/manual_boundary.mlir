// RUN: shardproof-opt %s --drop-annotations | filecheck %s

// A manual boundary reads the sharding of its operand and its own: none of it may go.
// CHECK: stablehlo.custom_call @Sharding({{.*}}mhlo.sharding = "{devices=[2]<=[2]}"
// CHECK-NEXT: stablehlo.custom_call @SPMDFullToShardShape({{.*}}mhlo.sharding = "{manual}"
// CHECK-NEXT: stablehlo.negate %{{.*}} : tensor<4xf32>
// CHECK: stablehlo.custom_call @SPMDShardToFullShape({{.*}}mhlo.sharding = "{devices=[2]<=[2]}"
module @m {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
    %2 = stablehlo.negate %1 {mhlo.sharding = "{manual}"} : tensor<4xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2]<=[2]}"}
        : (tensor<4xf32>) -> tensor<8xf32>
    return %4 : tensor<8xf32>
  }
}
