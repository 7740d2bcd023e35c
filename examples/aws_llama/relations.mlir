// How the tensor-parallel modules of the decoder relate to the single-device one, for any number of layers and for any
// number n of devices that divides the heads. A repetition without a count is repeated once for each layer.

// The fused weights of query, key and value: every device holds its part of each of the three, one after the other.
#query = affine_map<(d, i, j)[n] -> (i, d * (2048 floordiv n) + j)>
#key = affine_map<(d, i, j)[n] -> (i, d * (512 floordiv n) + j - 2048 floordiv n + 2048)>
#value = affine_map<(d, i, j)[n] -> (i, d * (512 floordiv n) + j - 2560 floordiv n + 2560)>
#in_query = affine_set<(d, i, j)[n] : (2048 floordiv n - j - 1 >= 0)>
#in_key = affine_set<(d, i, j)[n] : (j - 2048 floordiv n >= 0, 2560 floordiv n - j - 1 >= 0)>
#in_value = affine_set<(d, i, j)[n] : (j - 2560 floordiv n >= 0)>

"shardproof.relations"() {
  parameters = [
    "replicated", "replicated", "replicated", "replicated", "replicated", "replicated",
    // the caches of keys and values
    {repeat = [{shard = 2}, {shard = 2}]},
    {repeat = [
      "replicated",
      [{map = #query, domain = #in_query}, {map = #key, domain = #in_key}, {map = #value, domain = #in_value}],
      {shard = 1},
      "replicated",
      {shard = 1}, {shard = 1}, {shard = 1}
    ]},
    "replicated",
    {shard = 1}
  ],
  results = [
    {shard = 0},
    {repeat = [{shard = 2}, {shard = 2}]}
  ]
} : () -> ()
