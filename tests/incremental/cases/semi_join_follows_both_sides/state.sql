SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_shippriority) AS `of_sum_0`, sum(o_shippriority) AS `sum_0`, sum(abs(CAST((o_shippriority) AS BIGINT))) AS `size_0`
FROM orders LEFT ANTI JOIN lineitem ON l_orderkey = o_orderkey AND l_quantity > 5
GROUP BY o_custkey
