SELECT `key_0`, `rows`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT segment AS `key_0`, count(*) AS `rows`, `idle`.`__change` AS `__change`
FROM (SELECT c_mktsegment AS segment, `customer`.`__change` AS `__change`
FROM `__changed_customer` AS `customer`

WHERE c_mktsegment <> 'HOUSEHOLD' AND NOT EXISTS (SELECT 1
FROM `__former_orders` AS `orders`
WHERE o_custkey = c_custkey)) AS idle
GROUP BY segment, `idle`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT segment AS `key_0`, count(*) AS `rows`, 'insert' AS `__change`
FROM (SELECT c_mktsegment AS segment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer`

WHERE c_mktsegment <> 'HOUSEHOLD' AND NOT EXISTS (SELECT 1
FROM orders
WHERE o_custkey = c_custkey)) AS idle
GROUP BY segment
UNION ALL SELECT segment AS `key_0`, count(*) AS `rows`, 'delete' AS `__change`
FROM (SELECT c_mktsegment AS segment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer`

WHERE c_mktsegment <> 'HOUSEHOLD' AND NOT EXISTS (SELECT 1
FROM `__former_orders` AS `orders`
WHERE o_custkey = c_custkey)) AS idle
GROUP BY segment))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
