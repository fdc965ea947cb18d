WITH `__came_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'insert'), `__went_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'delete'), __rows(`0`, `1`, `__sign`) AS (SELECT *, 1
FROM (SELECT o.*, c_mktsegment
FROM `__came_orders` o LEFT JOIN `__former_customer` AS `customer` ON c_custkey = o.o_custkey)
UNION ALL SELECT *, -1
FROM (SELECT o.*, c_mktsegment
FROM `__went_orders` o LEFT JOIN `__former_customer` AS `customer` ON c_custkey = o.o_custkey)
UNION ALL SELECT *, 1
FROM (SELECT o.*, c_mktsegment
FROM (SELECT *
FROM orders
WHERE `o_custkey` IN (SELECT `c_custkey`
FROM `__changed_customer`)) o LEFT JOIN customer ON c_custkey = o.o_custkey)
UNION ALL SELECT *, -1
FROM (SELECT o.*, c_mktsegment
FROM (SELECT *
FROM orders
WHERE `o_custkey` IN (SELECT `c_custkey`
FROM `__changed_customer`)) o LEFT JOIN `__former_customer` AS `customer` ON c_custkey = o.o_custkey)) SELECT `a`, `b`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`, `__sign`
FROM __rows)
GROUP BY `a`, `b`
HAVING sum(`__sign`) <> 0
