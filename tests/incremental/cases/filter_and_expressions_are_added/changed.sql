WITH `__came_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'insert'), `__went_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'delete'), __rows(`0`, `1`, `__sign`) AS (SELECT *, 1
FROM (SELECT o_orderkey, year(o_orderdate) AS year
FROM `__came_orders` AS `orders`
WHERE o_custkey = 1)
UNION ALL SELECT *, -1
FROM (SELECT o_orderkey, year(o_orderdate) AS year
FROM `__went_orders` AS `orders`
WHERE o_custkey = 1)) SELECT `a`, `b`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`, `__sign`
FROM __rows)
GROUP BY `a`, `b`
HAVING sum(`__sign`) <> 0
