SELECT `rows`, `of_extreme_0`, `extreme_0`
FROM (SELECT CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_extreme_0`) AS BIGINT) AS `of_extreme_0`, CASE WHEN sum(`of_extreme_0`) > 0 THEN min(`extreme_0`) END AS `extreme_0`, min(`went_0`) AS `went_0`
FROM (SELECT `rows`, `of_extreme_0`, `extreme_0`, if(false, `extreme_0`, NULL) AS `went_0`
FROM `__kept`
UNION ALL SELECT if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_extreme_0`, -`of_extreme_0`) AS `of_extreme_0`, if(`__change` = 'insert', `extreme_0`, NULL) AS `extreme_0`, if(`__change` = 'insert', NULL, `extreme_0`) AS `went_0`
FROM (SELECT count(*) AS `rows`, count(o_custkey) AS `of_extreme_0`, MIN(o_custkey) AS `extreme_0`, `o`.`__change` AS `__change`
FROM (SELECT `orders`.`o_orderkey`, `orders`.`o_custkey`, `orders`.`o_orderdate`, `orders`.`o_shippriority`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`) AS o
GROUP BY `o`.`__change`)))
WHERE CASE WHEN `rows` < 0 OR `of_extreme_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `of_extreme_0` > 0 AND `went_0` IS NOT NULL AND coalesce(`went_0` <= `extreme_0`, true) THEN raise_error('what is kept does not surely give what the query gives') ELSE true END
