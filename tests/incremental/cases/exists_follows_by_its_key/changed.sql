SELECT `key_0`, `rows`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
WHERE EXISTS (SELECT 1
FROM `__former_lineitem` AS `lineitem`
WHERE l_orderkey = o_orderkey)
GROUP BY o_custkey, `orders`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT o_custkey AS `key_0`, count(*) AS `rows`, 'insert' AS `__change`
FROM (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders`
WHERE EXISTS (SELECT 1
FROM lineitem
WHERE l_orderkey = o_orderkey)
GROUP BY o_custkey
UNION ALL SELECT o_custkey AS `key_0`, count(*) AS `rows`, 'delete' AS `__change`
FROM (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders`
WHERE EXISTS (SELECT 1
FROM `__former_lineitem` AS `lineitem`
WHERE l_orderkey = o_orderkey)
GROUP BY o_custkey))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
