SELECT o_custkey AS `key_0`, count(*) AS `rows`
FROM orders
WHERE o_orderdate > (SELECT MIN(l_shipdate)
FROM lineitem
WHERE l_returnflag = 'R') AND o_shippriority < 3
GROUP BY o_custkey
