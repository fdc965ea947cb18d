SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_shippriority > 0) AS `of_extreme_0`, bool_and(o_shippriority > 0) AS `extreme_0`, count(o_shippriority > 5) AS `of_extreme_1`, some(o_shippriority > 5) AS `extreme_1`
FROM orders
GROUP BY o_custkey
