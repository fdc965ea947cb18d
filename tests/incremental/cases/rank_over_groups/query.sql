SELECT o_custkey, RANK() OVER (ORDER BY SUM(o_shippriority) DESC) AS place FROM orders GROUP BY o_custkey
