SELECT `value`, `rows`
FROM (SELECT `value`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `value`, `rows`
FROM `__kept`
UNION ALL SELECT `value`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT o_custkey AS `value`, count(*) AS `rows`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
GROUP BY o_custkey, `orders`.`__change`))
GROUP BY `value`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
