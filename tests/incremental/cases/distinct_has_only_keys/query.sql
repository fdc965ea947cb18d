SELECT o_custkey FROM orders GROUP BY o_custkey
