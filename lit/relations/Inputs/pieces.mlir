#gate = affine_map<(d, i, j) -> (i, 4 * d + j)>
#value = affine_map<(d, i, j) -> (i, 4 * d + j + 8)>
"shardproof.relations"() {
  parameters = [
    "replicated",
    [{map = #gate, domain = affine_set<(d, i, j) : (3 - j >= 0)>},
     {map = #value, domain = affine_set<(d, i, j) : (j - 4 >= 0)>}]
  ],
  results = [affine_map<(d, i, j) -> (i, 4 * d + j)>]
} : () -> ()
