"shardproof.relations"() {parameters = ["replicated", {shard = 1}, unit], results = [{shard = 1}]} : () -> ()
