SELECT count(*) AS `rows`
FROM (SELECT o_custkey
FROM orders
WHERE o_shippriority > 1) AS query_1
