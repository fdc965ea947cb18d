SELECT `key_0`, `rows`, `count_0`, `count_1`, `of_sum_0`, `sum_0`, `size_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`count_0`) AS BIGINT) AS `count_0`, CAST(sum(`count_1`) AS BIGINT) AS `count_1`, CAST(sum(`of_sum_0`) AS BIGINT) AS `of_sum_0`, CAST(sum(`sum_0`) AS BIGINT) AS `sum_0`, CAST(sum(`size_0`) AS BIGINT) AS `size_0`
FROM (SELECT `key_0`, `rows`, `count_0`, `count_1`, `of_sum_0`, `sum_0`, `size_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`, if(`__change` = 'insert', `count_1`, -`count_1`) AS `count_1`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, COUNT(*) FILTER (WHERE o_shippriority > 0) AS `count_0`, COUNT(o_orderdate) AS `count_1`, count(CASE WHEN o_shippriority = 0 THEN 1 ELSE 0 END) AS `of_sum_0`, sum(CASE WHEN o_shippriority = 0 THEN 1 ELSE 0 END) AS `sum_0`, sum(abs(CAST((CASE WHEN o_shippriority = 0 THEN 1 ELSE 0 END) AS BIGINT))) AS `size_0`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
GROUP BY o_custkey, `orders`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `count_0` < 0 OR `count_1` < 0 OR `of_sum_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
