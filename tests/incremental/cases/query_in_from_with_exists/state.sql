SELECT segment AS `key_0`, count(*) AS `rows`
FROM (SELECT c_mktsegment AS segment
FROM customer

WHERE c_mktsegment <> 'HOUSEHOLD' AND NOT EXISTS (SELECT 1
FROM orders
WHERE o_custkey = c_custkey)) AS idle
GROUP BY segment
