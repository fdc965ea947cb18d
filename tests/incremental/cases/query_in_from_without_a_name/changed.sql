SELECT `rows`
FROM (SELECT CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `rows`
FROM `__kept`
UNION ALL SELECT if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT count(*) AS `rows`, `query_1`.`__change` AS `__change`
FROM (SELECT o_custkey, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
WHERE o_shippriority > 1) AS query_1
GROUP BY `query_1`.`__change`)))
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') ELSE true END
