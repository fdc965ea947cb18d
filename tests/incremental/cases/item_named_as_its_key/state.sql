SELECT upper(c_mktsegment) AS `key_0`, count(*) AS `rows`
FROM customer
GROUP BY upper(c_mktsegment)
