SELECT o_custkey AS `key_0`, count(*) AS `rows`
FROM orders
WHERE EXISTS (SELECT 1
FROM lineitem
WHERE l_orderkey = o_orderkey)
GROUP BY o_custkey
