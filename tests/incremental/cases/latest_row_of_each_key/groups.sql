WITH __rows(`0`, `1`, `__sign`) AS (SELECT *, 1
FROM (SELECT * EXCEPT (place)
FROM (SELECT *, row_number() OVER (PARTITION BY o_custkey
ORDER BY o_orderdate DESC) AS place
FROM orders
WHERE (o_shippriority = 0) AND EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`o_custkey`)))
WHERE place = 1)
UNION ALL SELECT `c0`, `c1`, -1
FROM `__own`
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`__own`.`c1`))) SELECT `c0`, max(`c1`) AS `c1`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `c0`, CAST(`1` AS DOUBLE) AS `c1`, `__sign`
FROM __rows)
GROUP BY `c0`, `c1`, CAST(`c1` AS STRING)
HAVING sum(`__sign`) <> 0
