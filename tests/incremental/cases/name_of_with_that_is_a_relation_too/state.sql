SELECT o_custkey AS `key_0`, count(*) AS `rows`
FROM (
SELECT o_custkey
FROM orders
WHERE o_shippriority > 0
) AS orders
GROUP BY o_custkey
