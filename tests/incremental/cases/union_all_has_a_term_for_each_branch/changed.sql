WITH `__came_customer` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_customer`
WHERE `__change` = 'insert'), `__went_customer` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_customer`
WHERE `__change` = 'delete'), `__came_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'insert'), `__went_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'delete'), __rows(`0`, `1`, `__sign`) AS (SELECT *
FROM (SELECT *, 1
FROM (SELECT o_orderkey AS k, 'order' AS kind
FROM `__came_orders` AS `orders`)
UNION ALL SELECT *, -1
FROM (SELECT o_orderkey AS k, 'order' AS kind
FROM `__went_orders` AS `orders`))
UNION ALL SELECT *
FROM (SELECT *, 1
FROM (SELECT c_custkey, c_mktsegment
FROM `__came_customer` AS `customer`)
UNION ALL SELECT *, -1
FROM (SELECT c_custkey, c_mktsegment
FROM `__went_customer` AS `customer`))) SELECT `a`, `b`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`, `__sign`
FROM __rows)
GROUP BY `a`, `b`
HAVING sum(`__sign`) <> 0
