SELECT o_custkey AS `key_0`, o_orderdate AS `value`, count(*) AS `rows`, count(o_shippriority) AS `of_sum_0`, sum(o_shippriority) AS `sum_0`, sum(abs(CAST((o_shippriority) AS BIGINT))) AS `size_0`, avg(CASE WHEN false THEN o_shippriority END) AS `mean_0`, count(o_orderkey) AS `of_extreme_0`, MIN(o_orderkey) AS `extreme_0`
FROM orders
GROUP BY o_custkey, o_orderdate
