SELECT o_orderkey FROM orders WHERE o_custkey = 1
