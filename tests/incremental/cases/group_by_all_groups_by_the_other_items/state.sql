SELECT c_mktsegment AS `key_0`, c_custkey % 10 AS `key_1`, count(*) AS `rows`
FROM customer
GROUP BY c_mktsegment, c_custkey % 10
