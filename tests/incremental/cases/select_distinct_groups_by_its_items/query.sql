SELECT DISTINCT o_custkey FROM orders
