module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = call @_one_hot(%arg0) : (tensor<6xi32>) -> tensor<6x16xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x16xf32>, tensor<16x4xf32>) -> tensor<6x4xf32>
    return %1 : tensor<6x4xf32>
  }
  func.func private @_one_hot(%arg0: tensor<6xi32>) -> tensor<6x16xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x16xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<6x1xi32>) -> tensor<6x16xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xi32>) -> tensor<6x16xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<6x16xi32>, tensor<6x16xi32>) -> tensor<6x16xi1>
    %5 = stablehlo.convert %4 : (tensor<6x16xi1>) -> tensor<6x16xf32>
    return %5 : tensor<6x16xf32>
  }
}
