WITH __rows(`0`, `1`, `__sign`) AS (SELECT *, 1
FROM (SELECT o_custkey, collect_list(o_orderkey) AS keys
FROM orders
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (o_custkey))
GROUP BY o_custkey)
UNION ALL SELECT `c0`, `c1`, -1
FROM `__own`
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`__own`.`c0`))) SELECT `c0`, max(`c1`) AS `c1`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `c0`, CAST(`1` AS DOUBLE) AS `c1`, `__sign`
FROM __rows)
GROUP BY `c0`, `c1`, CAST(`c1` AS STRING)
HAVING sum(`__sign`) <> 0
