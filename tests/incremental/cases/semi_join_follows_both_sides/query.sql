SELECT o_custkey, SUM(o_shippriority) AS s FROM orders LEFT ANTI JOIN lineitem ON l_orderkey = o_orderkey AND l_quantity > 5
GROUP BY o_custkey
