SELECT o_custkey, AVG(o_shippriority) AS priority FROM orders GROUP BY o_custkey
