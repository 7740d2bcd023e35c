// RUN: shardproof-opt %s --inline-calls --split-input-file --verify-diagnostics

module @recursive {
  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{recursive call of '@f'}}
    %0 = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module @bodiless {
  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{call of '@f', which has no body}}
    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
