SELECT COUNT(*) AS n FROM (SELECT o_custkey FROM orders WHERE o_shippriority > 1)
