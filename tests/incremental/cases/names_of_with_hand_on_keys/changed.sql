SELECT `key_0`, `rows`, `count_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`count_0`) AS BIGINT) AS `count_0`
FROM (SELECT `key_0`, `rows`, `count_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`
FROM (SELECT buyers.segment AS `key_0`, count(*) AS `rows`, COUNT(placed.o_orderkey) AS `count_0`, `buyers`.`__change` AS `__change`
FROM (
SELECT c_custkey AS buyer, c_mktsegment AS segment, `customer`.`__change` AS `__change`
FROM `__changed_customer` AS `customer`
WHERE c_mktsegment <> 'NONE'
) AS buyers LEFT JOIN (
SELECT o_custkey AS buyer, o_orderkey
FROM `__former_orders` AS `orders`
WHERE o_shippriority = 0
) AS placed ON placed.buyer = buyers.buyer
GROUP BY buyers.segment, `buyers`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `count_0`, -`count_0`) AS `count_0`
FROM (SELECT buyers.segment AS `key_0`, count(*) AS `rows`, COUNT(placed.o_orderkey) AS `count_0`, 'insert' AS `__change`
FROM (
SELECT c_custkey AS buyer, c_mktsegment AS segment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`
WHERE `o_shippriority` IN (0))) AS `customer`
WHERE c_mktsegment <> 'NONE'
) AS buyers LEFT JOIN (
SELECT o_custkey AS buyer, o_orderkey
FROM orders
WHERE o_shippriority = 0
) AS placed ON placed.buyer = buyers.buyer
GROUP BY buyers.segment
UNION ALL SELECT buyers.segment AS `key_0`, count(*) AS `rows`, COUNT(placed.o_orderkey) AS `count_0`, 'delete' AS `__change`
FROM (
SELECT c_custkey AS buyer, c_mktsegment AS segment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`
WHERE `o_shippriority` IN (0))) AS `customer`
WHERE c_mktsegment <> 'NONE'
) AS buyers LEFT JOIN (
SELECT o_custkey AS buyer, o_orderkey
FROM `__former_orders` AS `orders`
WHERE o_shippriority = 0
) AS placed ON placed.buyer = buyers.buyer
GROUP BY buyers.segment))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `count_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
