SELECT o_custkey AS `key_0`, count(*) AS `rows`
FROM orders
GROUP BY o_custkey
