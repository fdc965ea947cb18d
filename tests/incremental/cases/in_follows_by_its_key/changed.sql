SELECT `key_0`, `rows`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, `customer`.`__change` AS `__change`
FROM `__changed_customer` AS `customer` JOIN `__former_orders` AS `orders` ON c_custkey = o_custkey
WHERE o_orderkey IN (SELECT l_orderkey
FROM `__former_lineitem` AS `lineitem`
GROUP BY l_orderkey
HAVING SUM(l_quantity) > 300)
GROUP BY c_mktsegment, `customer`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, `orders`.`__change` AS `__change`
FROM customer JOIN `__changed_orders` AS `orders` ON c_custkey = o_custkey
WHERE o_orderkey IN (SELECT l_orderkey
FROM `__former_lineitem` AS `lineitem`
GROUP BY l_orderkey
HAVING SUM(l_quantity) > 300)
GROUP BY c_mktsegment, `orders`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, 'insert' AS `__change`
FROM customer JOIN (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders` ON c_custkey = o_custkey
WHERE o_orderkey IN (SELECT l_orderkey
FROM lineitem
GROUP BY l_orderkey
HAVING SUM(l_quantity) > 300)
GROUP BY c_mktsegment
UNION ALL SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, 'delete' AS `__change`
FROM customer JOIN (SELECT *
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`)) AS `orders` ON c_custkey = o_custkey
WHERE o_orderkey IN (SELECT l_orderkey
FROM `__former_lineitem` AS `lineitem`
GROUP BY l_orderkey
HAVING SUM(l_quantity) > 300)
GROUP BY c_mktsegment))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
