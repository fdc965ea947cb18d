SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(l_quantity) AS `of_sum_0`, sum(l_quantity) AS `sum_0`, sum(abs(l_quantity)) AS `size_0`
FROM (
SELECT p.o_custkey, l.l_quantity
FROM (
SELECT o_orderkey, o_custkey
FROM orders
WHERE o_shippriority > 0
) p JOIN lineitem l ON l.l_orderkey = p.o_orderkey
) AS `all of it`
GROUP BY o_custkey
