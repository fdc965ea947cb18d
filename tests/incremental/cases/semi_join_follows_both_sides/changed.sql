SELECT `key_0`, `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_sum_0`) AS BIGINT) AS `of_sum_0`, CAST(sum(`sum_0`) AS BIGINT) AS `sum_0`, CAST(sum(`size_0`) AS BIGINT) AS `size_0`
FROM (SELECT `key_0`, `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_shippriority) AS `of_sum_0`, sum(o_shippriority) AS `sum_0`, sum(abs(CAST((o_shippriority) AS BIGINT))) AS `size_0`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders` LEFT ANTI JOIN `__former_lineitem` AS `lineitem` ON l_orderkey = o_orderkey AND l_quantity > 5
GROUP BY o_custkey, `orders`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_shippriority) AS `of_sum_0`, sum(o_shippriority) AS `sum_0`, sum(abs(CAST((o_shippriority) AS BIGINT))) AS `size_0`, 'insert' AS `__change`
FROM (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders` LEFT ANTI JOIN lineitem ON l_orderkey = o_orderkey AND l_quantity > 5
GROUP BY o_custkey
UNION ALL SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_shippriority) AS `of_sum_0`, sum(o_shippriority) AS `sum_0`, sum(abs(CAST((o_shippriority) AS BIGINT))) AS `size_0`, 'delete' AS `__change`
FROM (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders` LEFT ANTI JOIN `__former_lineitem` AS `lineitem` ON l_orderkey = o_orderkey AND l_quantity > 5
GROUP BY o_custkey))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `of_sum_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
