SELECT `key_0`, `rows`, `count_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`count_0`) AS BIGINT) AS `count_0`
FROM (SELECT `key_0`, `rows`, `count_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`
FROM (SELECT l_returnflag AS `key_0`, count(*) AS `rows`, COUNT(c_custkey) AS `count_0`, `lineitem`.`__change` AS `__change`
FROM `__changed_lineitem` AS `lineitem` LEFT JOIN `__former_orders` AS `orders` ON l_orderkey = o_orderkey LEFT JOIN `__former_customer` AS `customer` ON o_custkey = c_custkey
GROUP BY l_returnflag, `lineitem`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`
FROM (SELECT l_returnflag AS `key_0`, count(*) AS `rows`, COUNT(c_custkey) AS `count_0`, 'insert' AS `__change`
FROM (SELECT *
FROM lineitem
WHERE `l_orderkey` IN (SELECT `o_orderkey`
FROM `__changed_orders`)) AS `lineitem` LEFT JOIN orders ON l_orderkey = o_orderkey LEFT JOIN `__former_customer` AS `customer` ON o_custkey = c_custkey
GROUP BY l_returnflag
UNION ALL SELECT l_returnflag AS `key_0`, count(*) AS `rows`, COUNT(c_custkey) AS `count_0`, 'delete' AS `__change`
FROM (SELECT *
FROM lineitem
WHERE `l_orderkey` IN (SELECT `o_orderkey`
FROM `__changed_orders`)) AS `lineitem` LEFT JOIN `__former_orders` AS `orders` ON l_orderkey = o_orderkey LEFT JOIN `__former_customer` AS `customer` ON o_custkey = c_custkey
GROUP BY l_returnflag)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`
FROM (SELECT l_returnflag AS `key_0`, count(*) AS `rows`, COUNT(c_custkey) AS `count_0`, 'insert' AS `__change`
FROM (SELECT *
FROM lineitem
WHERE `l_orderkey` IN (SELECT `o_orderkey`
FROM orders
WHERE `o_custkey` IN (SELECT `c_custkey`
FROM `__changed_customer`))) AS `lineitem` LEFT JOIN orders ON l_orderkey = o_orderkey LEFT JOIN customer ON o_custkey = c_custkey
GROUP BY l_returnflag
UNION ALL SELECT l_returnflag AS `key_0`, count(*) AS `rows`, COUNT(c_custkey) AS `count_0`, 'delete' AS `__change`
FROM (SELECT *
FROM lineitem
WHERE `l_orderkey` IN (SELECT `o_orderkey`
FROM orders
WHERE `o_custkey` IN (SELECT `c_custkey`
FROM `__changed_customer`))) AS `lineitem` LEFT JOIN orders ON l_orderkey = o_orderkey LEFT JOIN `__former_customer` AS `customer` ON o_custkey = c_custkey
GROUP BY l_returnflag))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `count_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
