SELECT count(*) AS `rows`
FROM orders
WHERE o_orderdate < TIMESTAMP '2020-01-01 12:30:00'
