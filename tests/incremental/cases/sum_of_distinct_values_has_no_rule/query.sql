SELECT SUM(DISTINCT o_shippriority) AS s FROM orders
