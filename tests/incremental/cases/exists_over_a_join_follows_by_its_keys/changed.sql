WITH `__came_customer` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_customer`
WHERE `__change` = 'insert'), `__went_customer` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_customer`
WHERE `__change` = 'delete'), __rows(`0`, `1`, `__sign`) AS (SELECT *, 1
FROM (SELECT c_custkey, c_mktsegment
FROM `__came_customer` AS `customer`
WHERE EXISTS (SELECT 1
FROM `__former_orders` AS `orders` JOIN `__former_lineitem` AS `lineitem` ON l_orderkey = o_orderkey
WHERE o_custkey = c_custkey AND l_quantity > 40))
UNION ALL SELECT *, -1
FROM (SELECT c_custkey, c_mktsegment
FROM `__went_customer` AS `customer`
WHERE EXISTS (SELECT 1
FROM `__former_orders` AS `orders` JOIN `__former_lineitem` AS `lineitem` ON l_orderkey = o_orderkey
WHERE o_custkey = c_custkey AND l_quantity > 40))
UNION ALL SELECT *, 1
FROM (SELECT c_custkey, c_mktsegment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer`
WHERE EXISTS (SELECT 1
FROM orders JOIN `__former_lineitem` AS `lineitem` ON l_orderkey = o_orderkey
WHERE o_custkey = c_custkey AND l_quantity > 40))
UNION ALL SELECT *, -1
FROM (SELECT c_custkey, c_mktsegment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer`
WHERE EXISTS (SELECT 1
FROM `__former_orders` AS `orders` JOIN `__former_lineitem` AS `lineitem` ON l_orderkey = o_orderkey
WHERE o_custkey = c_custkey AND l_quantity > 40))
UNION ALL SELECT *, 1
FROM (SELECT c_custkey, c_mktsegment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`
WHERE `l_quantity` > 40))) AS `customer`
WHERE EXISTS (SELECT 1
FROM orders JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_custkey = c_custkey AND l_quantity > 40))
UNION ALL SELECT *, -1
FROM (SELECT c_custkey, c_mktsegment
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM orders
WHERE `o_orderkey` IN (SELECT `l_orderkey`
FROM `__changed_lineitem`
WHERE `l_quantity` > 40))) AS `customer`
WHERE EXISTS (SELECT 1
FROM orders JOIN `__former_lineitem` AS `lineitem` ON l_orderkey = o_orderkey
WHERE o_custkey = c_custkey AND l_quantity > 40))) SELECT `a`, `b`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`, `__sign`
FROM __rows)
GROUP BY `a`, `b`
HAVING sum(`__sign`) <> 0
