SELECT o_custkey AS `key_0`, count(*) AS `rows`, COUNT(*) FILTER (WHERE o_shippriority > 0) AS `count_0`, COUNT(o_orderdate) AS `count_1`, count(CASE WHEN o_shippriority = 0 THEN 1 ELSE 0 END) AS `of_sum_0`, sum(CASE WHEN o_shippriority = 0 THEN 1 ELSE 0 END) AS `sum_0`, sum(abs(CAST((CASE WHEN o_shippriority = 0 THEN 1 ELSE 0 END) AS BIGINT))) AS `size_0`
FROM orders
GROUP BY o_custkey
