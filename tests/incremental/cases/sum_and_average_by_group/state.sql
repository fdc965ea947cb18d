SELECT l_returnflag AS `key_0`, l_linestatus AS `key_1`, count(*) AS `rows`, count(l_quantity) AS `of_sum_0`, sum(l_quantity) AS `sum_0`, sum(abs(l_quantity)) AS `size_0`, avg(CASE WHEN false THEN l_quantity END) AS `mean_0`
FROM lineitem
WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY
GROUP BY l_returnflag, l_linestatus
