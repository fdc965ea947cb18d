SELECT SUM(l_extendedprice) AS price FROM lineitem, orders
WHERE o_orderkey = l_orderkey AND l_quantity < (SELECT 0.2 * AVG(x.l_quantity) FROM lineitem x WHERE x.l_orderkey = o_orderkey)
