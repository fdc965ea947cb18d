SELECT `key_0`, `rows`, `count_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`count_0`) AS BIGINT) AS `count_0`
FROM (SELECT `key_0`, `rows`, `count_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`
FROM (SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, COUNT(o_orderkey) AS `count_0`, `customer`.`__change` AS `__change`
FROM `__changed_customer` AS `customer` LEFT JOIN `__former_orders` AS `orders` ON c_custkey = o_custkey
GROUP BY c_mktsegment, `customer`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`
FROM (SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, COUNT(o_orderkey) AS `count_0`, 'insert' AS `__change`
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer` LEFT JOIN orders ON c_custkey = o_custkey
GROUP BY c_mktsegment
UNION ALL SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, COUNT(o_orderkey) AS `count_0`, 'delete' AS `__change`
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer` LEFT JOIN `__former_orders` AS `orders` ON c_custkey = o_custkey
GROUP BY c_mktsegment))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `count_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
