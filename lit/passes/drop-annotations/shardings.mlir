// RUN: shardproof-opt %s --drop-annotations | filecheck %s
// RUN: shardproof-opt %s --drop-annotations=keep-shardings=true | filecheck %s --check-prefix KEEP

// Shardings inside go; those of parameters and results say what the program means on devices and stay.
// CHECK: func.func @main(%{{.*}} {sdy.sharding = {{.*}}}) -> (tensor<8xf32> {mhlo.sharding = "{replicated}"})
// CHECK-NOT: sharding
// CHECK: stablehlo.negate
// CHECK-NOT: sharding
// KEEP: stablehlo.negate {{.*}}sdy.sharding
// KEEP: stablehlo.abs {{.*}}mhlo.sharding
module @m {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>})
      -> (tensor<8xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : tensor<8xf32>
    %1 = stablehlo.abs %0 {mhlo.sharding = "{devices=[2]<=[2]}"} : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
