SELECT o_custkey AS `key_0`, count(*) AS `rows`
FROM orders
WHERE o_orderkey NOT IN (SELECT l_orderkey
FROM lineitem)
GROUP BY o_custkey
