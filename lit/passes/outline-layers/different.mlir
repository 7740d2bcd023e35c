// RUN: shardproof-opt %s --outline-layers=min-ops=2 --split-input-file | filecheck %s
// CHECK-NOT: call @layer

// The second layer subtracts.
module @operation {
  func.func @main(%x: tensor<4xf32>, %a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %a : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = stablehlo.subtract %1, %a : tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}

// -----

// The same operations, but the second layer applies tanh to something else.
module @wiring {
  func.func @main(%x: tensor<4xf32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.add %x, %a : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = stablehlo.add %1, %a : tensor<4xf32>
    %3 = stablehlo.tanh %1 : tensor<4xf32>
    return %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Another operand twice: x + x is not x + a.
module @sharing {
  func.func @main(%x: tensor<4xf32>, %a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %a : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = stablehlo.add %1, %1 : tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}

// -----

// Other groups of devices.
module @groups {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}

// -----

// One collective over partitions, one over replicas.
module @modes {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}>
        : (tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
