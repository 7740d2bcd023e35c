// Device offsets, index masks, run-time starts and look-ups; 4 partitions.
module @offsets attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<16x8xf32>, %table: tensor<4x8xf32>, %ids: tensor<6xi32>, %at: tensor<i32>, %y: tensor<4x8xf32>)
      -> (tensor<4x8xf32>, tensor<8xf32>, tensor<6x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xui32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %zerof = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %id = stablehlo.partition_id : tensor<ui32>
    %starts = stablehlo.constant dense<[0, 4, 8, 12]> : tensor<4xi32>
    %one = stablehlo.dynamic_slice %starts, %id, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %start = stablehlo.reshape %one : (tensor<1xi32>) -> tensor<i32>
    %sum = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %own = stablehlo.dynamic_slice %sum, %start, %zero, sizes = [4, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    // A maximum over 13 of 16 rows: the last device's padding is masked.
    %signed = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
    %four = stablehlo.constant dense<4> : tensor<i32>
    %offset = stablehlo.multiply %signed, %four : tensor<i32>
    %position = stablehlo.iota dim = 0 : tensor<4x8xi32>
    %offsets = stablehlo.broadcast_in_dim %offset, dims = [] : (tensor<i32>) -> tensor<4x8xi32>
    %global = stablehlo.add %position, %offsets : tensor<4x8xi32>
    %rows = stablehlo.constant dense<13> : tensor<4x8xi32>
    %valid = stablehlo.compare LT, %global, %rows : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    %lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %masked = stablehlo.select %valid, %y, %lows : tensor<4x8xi1>, tensor<4x8xf32>
    %best = stablehlo.reduce(%masked init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    // A look-up in a table whose rows are sharded.
    %shift = stablehlo.broadcast_in_dim %start, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %local = stablehlo.subtract %ids, %shift : tensor<6xi32>
    %zeros = stablehlo.constant dense<0> : tensor<6xi32>
    %fours = stablehlo.constant dense<4> : tensor<6xi32>
    %above = stablehlo.compare GE, %local, %zeros : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %below = stablehlo.compare LT, %local, %fours : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %mine = stablehlo.and %above, %below : tensor<6xi1>
    %spread = stablehlo.broadcast_in_dim %mine, dims = [0] : (tensor<6xi1>) -> tensor<6x8xi1>
    %rowids = stablehlo.reshape %local : (tensor<6xi32>) -> tensor<6x1xi32>
    %found = "stablehlo.gather"(%table, %rowids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>, indices_are_sorted = false}> : (tensor<4x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
    %nothing = stablehlo.constant dense<0.0> : tensor<6x8xf32>
    %kept = stablehlo.select %spread, %found, %nothing : tensor<6x8xi1>, tensor<6x8xf32>
    // A run-time start, clamped.
    %top = stablehlo.constant dense<14> : tensor<i32>
    %clamped = stablehlo.clamp %zero, %at, %top : tensor<i32>
    %window = stablehlo.dynamic_slice %x, %clamped, %zero, sizes = [2, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
    // A sum into rows, whose base only the first device adds.
    %first = stablehlo.compare EQ, %signed, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %isfirst = stablehlo.broadcast_in_dim %first, dims = [] : (tensor<i1>) -> tensor<4x8xi1>
    %blank = stablehlo.broadcast_in_dim %zerof, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %base = stablehlo.select %isfirst, %table, %blank : tensor<4x8xi1>, tensor<4x8xf32>
    %added = "stablehlo.scatter"(%base, %rowids, %found) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<6x1xi32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    %first_block = stablehlo.slice %x [0:4, 0:8] : (tensor<16x8xf32>) -> tensor<4x8xf32>
    // Random bits of the device's positions.
    %counts = stablehlo.iota dim = 0 : tensor<4xui32>
    %ustep = stablehlo.constant dense<4> : tensor<ui32>
    %ustart = stablehlo.multiply %id, %ustep : tensor<ui32>
    %ustarts = stablehlo.broadcast_in_dim %ustart, dims = [] : (tensor<ui32>) -> tensor<4xui32>
    %bits = stablehlo.add %counts, %ustarts : tensor<4xui32> loc("jit(f)/threefry2x32")
    return %own, %best, %kept, %window, %added, %first_block, %bits : tensor<4x8xf32>, tensor<8xf32>, tensor<6x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xui32>
  }
}
