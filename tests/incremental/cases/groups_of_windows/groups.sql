WITH __rows(`0`, `1`, `2`, `__sign`) AS (SELECT *, 1
FROM (SELECT o_custkey, MIN(o_orderdate) AS began, COUNT(*) AS orders
FROM (
  SELECT o_custkey, o_orderdate, SUM(is_new) OVER (PARTITION BY o_custkey
ORDER BY o_orderdate) AS visit
FROM (
    SELECT o_custkey, o_orderdate, CASE WHEN datediff(o_orderdate, lag(o_orderdate) OVER (PARTITION BY o_custkey
ORDER BY o_orderdate)) > 30
      THEN 1 ELSE 0 END AS is_new
FROM orders
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (o_custkey))))
GROUP BY o_custkey, visit)
UNION ALL SELECT `c0`, `c1`, `c2`, -1
FROM `__own`
WHERE EXISTS (SELECT 1
FROM `__keys`
WHERE `__keys`.`__key_0` <=> (`__own`.`c0`))) SELECT `c0`, max(`c1`) AS `c1`, max(`c2`) AS `c2`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `c0`, CAST(`1` AS DOUBLE) AS `c1`, CAST(`2` AS DOUBLE) AS `c2`, `__sign`
FROM __rows)
GROUP BY `c0`, `c1`, CAST(`c1` AS STRING), `c2`, CAST(`c2` AS STRING)
HAVING sum(`__sign`) <> 0
