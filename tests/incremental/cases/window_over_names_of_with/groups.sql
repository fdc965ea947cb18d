WITH __rows(`0`, `1`, `2`, `3`, `4`, `5`, `__sign`) AS (SELECT *, 1
FROM (SELECT o_custkey, c_mktsegment, o_orderkey
FROM (
SELECT `few`.`o_orderkey`, `few`.`o_custkey`, `few`.`o_orderdate`, `few`.`o_shippriority`, c_mktsegment, rank() OVER (PARTITION BY few.o_custkey
ORDER BY o_orderdate) AS place

FROM (
SELECT `orders`.`o_orderkey`, `orders`.`o_custkey`, `orders`.`o_orderdate`, `orders`.`o_shippriority`
FROM orders
WHERE o_shippriority = 0
) AS few LEFT JOIN customer ON c_custkey = few.o_custkey
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`few`.`o_custkey`))
) AS ranked
WHERE place <= 3)
UNION ALL SELECT `c0`, `c1`, `c2`, `c3`, `c4`, `c5`, -1
FROM `__own`
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`__own`.`c0`))) SELECT `c0`, max(`c1`) AS `c1`, max(`c2`) AS `c2`, max(`c3`) AS `c3`, max(`c4`) AS `c4`, max(`c5`) AS `c5`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `c0`, CAST(`1` AS DOUBLE) AS `c1`, CAST(`2` AS DOUBLE) AS `c2`, CAST(`3` AS DOUBLE) AS `c3`, CAST(`4` AS DOUBLE) AS `c4`, CAST(`5` AS DOUBLE) AS `c5`, `__sign`
FROM __rows)
GROUP BY `c0`, `c1`, CAST(`c1` AS STRING), `c2`, CAST(`c2` AS STRING), `c3`, CAST(`c3` AS STRING), `c4`, CAST(`c4` AS STRING), `c5`, CAST(`c5` AS STRING)
HAVING sum(`__sign`) <> 0
