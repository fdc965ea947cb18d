SELECT o_custkey AS `value`, count(*) AS `rows`
FROM orders
GROUP BY o_custkey
