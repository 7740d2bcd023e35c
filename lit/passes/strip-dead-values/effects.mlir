// RUN: shardproof-opt %s --strip-dead-values | filecheck %s

// What does more than compute stays, and so does what it reads, be it in a called function or in a branch.
// CHECK: stablehlo.negate
// CHECK: stablehlo.custom_call @Log
// CHECK: stablehlo.outfeed
// CHECK: call @logs
// CHECK: stablehlo.if
module @m {
  func.func private @logs(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @Log(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = stablehlo.custom_call @Log(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.create_token : !stablehlo.token
    %3 = "stablehlo.outfeed"(%x, %2) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %4 = call @logs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %5 = "stablehlo.if"(%p) ({
      %6 = func.call @logs(%x) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %6 : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %x : tensor<4xf32>
  }
}
