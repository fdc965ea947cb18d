SELECT `key_0`, `rows`, `of_extreme_0`, `extreme_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_extreme_0`) AS BIGINT) AS `of_extreme_0`, CASE WHEN sum(`of_extreme_0`) > 0 THEN max(`extreme_0`) END AS `extreme_0`, max(`went_0`) AS `went_0`
FROM (SELECT `key_0`, `rows`, `of_extreme_0`, `extreme_0`, if(false, `extreme_0`, NULL) AS `went_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_extreme_0`, -`of_extreme_0`) AS `of_extreme_0`, if(`__change` = 'insert', `extreme_0`, NULL) AS `extreme_0`, if(`__change` = 'insert', NULL, `extreme_0`) AS `went_0`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_orderdate) AS `of_extreme_0`, MAX(o_orderdate) AS `extreme_0`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
GROUP BY o_custkey, `orders`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `of_extreme_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false WHEN `of_extreme_0` > 0 AND `went_0` IS NOT NULL AND coalesce(`went_0` >= `extreme_0`, true) THEN raise_error('what is kept does not surely give what the query gives') ELSE true END
