SELECT COUNT(DISTINCT o_custkey) AS n FROM orders
