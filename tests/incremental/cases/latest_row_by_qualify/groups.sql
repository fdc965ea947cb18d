WITH __rows(`0`, `1`, `2`, `__sign`) AS (SELECT *, 1
FROM (SELECT o_custkey, o_orderkey, o_orderdate
FROM orders
WHERE (o_shippriority < 2 OR o_orderkey IS NULL) AND EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (o_custkey))
QUALIFY row_number() OVER (PARTITION BY o_custkey
ORDER BY o_orderdate DESC) = 1
ORDER BY o_custkey)
UNION ALL SELECT `c0`, `c1`, `c2`, -1
FROM `__own`
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`__own`.`c0`))) SELECT `c0`, max(`c1`) AS `c1`, max(`c2`) AS `c2`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `c0`, CAST(`1` AS DOUBLE) AS `c1`, CAST(`2` AS DOUBLE) AS `c2`, `__sign`
FROM __rows)
GROUP BY `c0`, `c1`, CAST(`c1` AS STRING), `c2`, CAST(`c2` AS STRING)
HAVING sum(`__sign`) <> 0
