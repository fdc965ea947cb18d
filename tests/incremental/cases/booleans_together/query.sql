SELECT o_custkey, bool_and(o_shippriority > 0) AS all_of_them, some(o_shippriority > 5) AS one FROM orders GROUP BY o_custkey
