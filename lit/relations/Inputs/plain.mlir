"shardproof.relations"() {parameters = ["replicated", {shard = 1}], results = [{shard = 1}]} : () -> ()
