SELECT `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM (SELECT CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_sum_0`) AS BIGINT) AS `of_sum_0`, CAST(sum(`sum_0`) AS decimal(25,2)) AS `sum_0`, CAST(sum(`size_0`) AS decimal(25,2)) AS `size_0`
FROM (SELECT `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM `__kept`
UNION ALL SELECT if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT count(*) AS `rows`, count(l_extendedprice) AS `of_sum_0`, sum(l_extendedprice) AS `sum_0`, sum(abs(l_extendedprice)) AS `size_0`, `lineitem`.`__change` AS `__change`
FROM `__changed_lineitem` AS `lineitem`, `__former_orders` AS `orders`
WHERE o_orderkey = l_orderkey AND l_quantity < (SELECT 0.2 * AVG(x.l_quantity)
FROM `__former_lineitem` x
WHERE x.l_orderkey = o_orderkey)
GROUP BY `lineitem`.`__change`)
UNION ALL SELECT if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT count(*) AS `rows`, count(l_extendedprice) AS `of_sum_0`, sum(l_extendedprice) AS `sum_0`, sum(abs(l_extendedprice)) AS `size_0`, `orders`.`__change` AS `__change`
FROM lineitem, `__changed_orders` AS `orders`
WHERE o_orderkey = l_orderkey AND l_quantity < (SELECT 0.2 * AVG(x.l_quantity)
FROM `__former_lineitem` x
WHERE x.l_orderkey = o_orderkey)
GROUP BY `orders`.`__change`)
UNION ALL SELECT if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT count(*) AS `rows`, count(l_extendedprice) AS `of_sum_0`, sum(l_extendedprice) AS `sum_0`, sum(abs(l_extendedprice)) AS `size_0`, 'insert' AS `__change`
FROM lineitem, (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders`
WHERE o_orderkey = l_orderkey AND l_quantity < (SELECT 0.2 * AVG(x.l_quantity)
FROM lineitem x
WHERE x.l_orderkey = o_orderkey)
UNION ALL SELECT count(*) AS `rows`, count(l_extendedprice) AS `of_sum_0`, sum(l_extendedprice) AS `sum_0`, sum(abs(l_extendedprice)) AS `size_0`, 'delete' AS `__change`
FROM lineitem, (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders`
WHERE o_orderkey = l_orderkey AND l_quantity < (SELECT 0.2 * AVG(x.l_quantity)
FROM `__former_lineitem` x
WHERE x.l_orderkey = o_orderkey))))
WHERE CASE WHEN `rows` < 0 OR `of_sum_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') ELSE true END
