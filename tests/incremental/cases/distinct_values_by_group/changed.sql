SELECT `key_0`, `value`, `rows`, `of_sum_0`, `sum_0`, `size_0`, `mean_0`, `of_extreme_0`, `extreme_0`
FROM (SELECT `key_0`, `value`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_sum_0`) AS BIGINT) AS `of_sum_0`, CAST(sum(`sum_0`) AS BIGINT) AS `sum_0`, CAST(sum(`size_0`) AS BIGINT) AS `size_0`, CAST(NULL AS DOUBLE) AS `mean_0`, CAST(sum(`of_extreme_0`) AS BIGINT) AS `of_extreme_0`, CASE WHEN sum(`of_extreme_0`) > 0 THEN min(`extreme_0`) END AS `extreme_0`, min(`went_0`) AS `went_0`
FROM (SELECT `key_0`, `value`, `rows`, `of_sum_0`, `sum_0`, `size_0`, `mean_0`, `of_extreme_0`, `extreme_0`, if(false, `extreme_0`, NULL) AS `went_0`
FROM `__kept`
UNION ALL SELECT `key_0`, `value`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`, CAST(NULL AS DOUBLE) AS `mean_0`, if(`__change` = 'insert', `of_extreme_0`, -`of_extreme_0`) AS `of_extreme_0`, if(`__change` = 'insert', `extreme_0`, NULL) AS `extreme_0`, if(`__change` = 'insert', NULL, `extreme_0`) AS `went_0`
FROM (SELECT o_custkey AS `key_0`, o_orderdate AS `value`, count(*) AS `rows`, count(o_shippriority) AS `of_sum_0`, sum(o_shippriority) AS `sum_0`, sum(abs(CAST((o_shippriority) AS BIGINT))) AS `size_0`, count(o_orderkey) AS `of_extreme_0`, MIN(o_orderkey) AS `extreme_0`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
GROUP BY o_custkey, o_orderdate, `orders`.`__change`))
GROUP BY `key_0`, `value`)
WHERE CASE WHEN `rows` < 0 OR `of_sum_0` < 0 OR `of_extreme_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false WHEN `of_extreme_0` > 0 AND `went_0` IS NOT NULL AND coalesce(`went_0` <= `extreme_0`, true) THEN raise_error('what is kept does not surely give what the query gives') ELSE true END
