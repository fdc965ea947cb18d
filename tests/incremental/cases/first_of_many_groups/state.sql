SELECT l_orderkey AS `key_0`, count(*) AS `rows`, count(l_quantity) AS `of_sum_0`, sum(l_quantity) AS `sum_0`, sum(abs(l_quantity)) AS `size_0`
FROM lineitem
WHERE l_returnflag = 'R'
GROUP BY l_orderkey
