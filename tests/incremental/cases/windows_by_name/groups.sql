WITH __rows(`0`, `1`, `2`, `3`, `__sign`) AS (SELECT *, 1
FROM (SELECT o_custkey, o_orderdate, rank() OVER (of_customer
ORDER BY o_orderdate) AS place, count(*) OVER of_customer AS orders
FROM orders
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (o_custkey)) WINDOW of_customer AS (PARTITION BY o_custkey))
UNION ALL SELECT `c0`, `c1`, `c2`, `c3`, -1
FROM `__own`
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`__own`.`c0`))) SELECT `c0`, max(`c1`) AS `c1`, max(`c2`) AS `c2`, max(`c3`) AS `c3`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `c0`, CAST(`1` AS DOUBLE) AS `c1`, CAST(`2` AS DOUBLE) AS `c2`, CAST(`3` AS DOUBLE) AS `c3`, `__sign`
FROM __rows)
GROUP BY `c0`, `c1`, CAST(`c1` AS STRING), `c2`, CAST(`c2` AS STRING), `c3`, CAST(`c3` AS STRING)
HAVING sum(`__sign`) <> 0
