SELECT o_custkey, AVG(o_shippriority) AS o_shippriority FROM orders GROUP BY o_custkey
