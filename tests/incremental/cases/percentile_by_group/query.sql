SELECT o_custkey, percentile(o_shippriority, 0.5) AS middle FROM orders GROUP BY o_custkey
