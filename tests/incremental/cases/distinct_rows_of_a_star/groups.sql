WITH __rows(`0`, `1`, `__sign`) AS (SELECT *, 1
FROM (SELECT DISTINCT *
FROM customer
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`c_custkey`) AND `__keys`.`__key_1` <=> (`c_mktsegment`)))
UNION ALL SELECT `c0`, `c1`, -1
FROM `__own`
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`__own`.`c0`) AND `__keys`.`__key_1` <=> (`__own`.`c1`))) SELECT `c0`, max(`c1`) AS `c1`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `c0`, CAST(`1` AS DOUBLE) AS `c1`, `__sign`
FROM __rows)
GROUP BY `c0`, `c1`, CAST(`c1` AS STRING)
HAVING sum(`__sign`) <> 0
