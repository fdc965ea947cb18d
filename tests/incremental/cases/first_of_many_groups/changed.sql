SELECT `key_0`, `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_sum_0`) AS BIGINT) AS `of_sum_0`, CAST(sum(`sum_0`) AS decimal(25,2)) AS `sum_0`, CAST(sum(`size_0`) AS decimal(25,2)) AS `size_0`
FROM (SELECT `key_0`, `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT l_orderkey AS `key_0`, count(*) AS `rows`, count(l_quantity) AS `of_sum_0`, sum(l_quantity) AS `sum_0`, sum(abs(l_quantity)) AS `size_0`, `lineitem`.`__change` AS `__change`
FROM `__changed_lineitem` AS `lineitem`
WHERE l_returnflag = 'R'
GROUP BY l_orderkey, `lineitem`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `of_sum_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
