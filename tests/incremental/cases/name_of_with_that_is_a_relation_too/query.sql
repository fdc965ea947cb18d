WITH orders AS (SELECT o_custkey FROM orders WHERE o_shippriority > 0) SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey
