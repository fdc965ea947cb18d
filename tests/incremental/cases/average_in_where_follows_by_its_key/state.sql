SELECT count(*) AS `rows`, count(l_extendedprice) AS `of_sum_0`, sum(l_extendedprice) AS `sum_0`, sum(abs(l_extendedprice)) AS `size_0`
FROM lineitem, orders
WHERE o_orderkey = l_orderkey AND l_quantity < (SELECT 0.2 * AVG(x.l_quantity)
FROM lineitem x
WHERE x.l_orderkey = o_orderkey)
