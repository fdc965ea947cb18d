SELECT `key_0`, `rows`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
WHERE o_orderdate > (SELECT MIN(l_shipdate)
FROM lineitem
WHERE l_returnflag = 'R') AND o_shippriority < 3
GROUP BY o_custkey, `orders`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
