SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(l_quantity) AS `of_sum_0`, sum(l_quantity) AS `sum_0`, sum(abs(l_quantity)) AS `size_0`
FROM orders JOIN returns USING (o_orderkey) JOIN lineitem ON l_orderkey = o_orderkey
GROUP BY o_custkey
