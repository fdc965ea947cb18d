SELECT `key_0`, `rows`, `of_extreme_0`, `extreme_0`, `of_extreme_1`, `extreme_1`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_extreme_0`) AS BIGINT) AS `of_extreme_0`, CASE WHEN sum(`of_extreme_0`) > 0 THEN min(`extreme_0`) END AS `extreme_0`, CAST(sum(`of_extreme_1`) AS BIGINT) AS `of_extreme_1`, CASE WHEN sum(`of_extreme_1`) > 0 THEN max(`extreme_1`) END AS `extreme_1`, min(`went_0`) AS `went_0`, max(`went_1`) AS `went_1`
FROM (SELECT `key_0`, `rows`, `of_extreme_0`, `extreme_0`, `of_extreme_1`, `extreme_1`, if(false, `extreme_0`, NULL) AS `went_0`, if(false, `extreme_1`, NULL) AS `went_1`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_extreme_0`, -`of_extreme_0`) AS `of_extreme_0`, if(`__change` = 'insert', `extreme_0`, NULL) AS `extreme_0`, if(`__change` = 'insert', `of_extreme_1`, -`of_extreme_1`) AS `of_extreme_1`, if(`__change` = 'insert', `extreme_1`, NULL) AS `extreme_1`, if(`__change` = 'insert', NULL, `extreme_0`) AS `went_0`, if(`__change` = 'insert', NULL, `extreme_1`) AS `went_1`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_shippriority > 0) AS `of_extreme_0`, bool_and(o_shippriority > 0) AS `extreme_0`, count(o_shippriority > 5) AS `of_extreme_1`, some(o_shippriority > 5) AS `extreme_1`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
GROUP BY o_custkey, `orders`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `of_extreme_0` < 0 OR `of_extreme_1` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false WHEN `of_extreme_0` > 0 AND `went_0` IS NOT NULL AND coalesce(`went_0` <= `extreme_0`, true) THEN raise_error('what is kept does not surely give what the query gives') WHEN `of_extreme_1` > 0 AND `went_1` IS NOT NULL AND coalesce(`went_1` >= `extreme_1`, true) THEN raise_error('what is kept does not surely give what the query gives') ELSE true END
