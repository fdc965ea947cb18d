SELECT o_custkey AS customer, percentile(o_orderkey, 0.5) AS middle FROM orders WHERE o_shippriority = 0
GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY customer
