"shardproof.relations"() {
  parameters = ["replicated", {shard = 1, blocks = [12, 12]}],
  results = [{shard = 1}]
} : () -> ()
