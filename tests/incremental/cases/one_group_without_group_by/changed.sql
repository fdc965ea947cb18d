SELECT `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM (SELECT CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_sum_0`) AS BIGINT) AS `of_sum_0`, CAST(sum(`sum_0`) AS decimal(25,2)) AS `sum_0`, CAST(sum(`size_0`) AS decimal(25,2)) AS `size_0`
FROM (SELECT `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM `__kept`
UNION ALL SELECT if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT count(*) AS `rows`, count(l_extendedprice * l_discount) AS `of_sum_0`, sum(l_extendedprice * l_discount) AS `sum_0`, sum(abs(l_extendedprice * l_discount)) AS `size_0`, `lineitem`.`__change` AS `__change`
FROM `__changed_lineitem` AS `lineitem`
WHERE l_discount BETWEEN 0.05 AND 0.07
GROUP BY `lineitem`.`__change`)))
WHERE CASE WHEN `rows` < 0 OR `of_sum_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') ELSE true END
