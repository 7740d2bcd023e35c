// RUN: shardproof-opt %s --split-input-file --verify-diagnostics --inline-calls

// Every place an expectation can name: its own line, lines before and after it, and no line at all.
module @own {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32> // expected-error {{recursive call of '@main'}}
    return %0 : tensor<4xf32>
  }
}

// -----

module @below {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@below {{recursive call}}
    %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module @above {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@above {{recursive call}}
    return %0 : tensor<4xf32>
  }
}

// -----

module @counted {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
    // expected-error@-2 {{recursive call}}
  }
}

// -----

// expected-error@unknown {{recursive call}}
module @elsewhere {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("other.py":1:1)
    return %0 : tensor<4xf32>
  }
}
