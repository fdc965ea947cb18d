WITH `__came_customer` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_customer`
WHERE `__change` = 'insert'), `__went_customer` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_customer`
WHERE `__change` = 'delete'), `__came_lineitem` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_lineitem`
WHERE `__change` = 'insert'), `__went_lineitem` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_lineitem`
WHERE `__change` = 'delete'), `__came_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'insert'), `__went_orders` AS (SELECT * EXCEPT (`__change`)
FROM `__changed_orders`
WHERE `__change` = 'delete'), __rows(`0`, `1`, `__sign`) AS (SELECT *, 1
FROM (SELECT o_orderkey, c_mktsegment, l_quantity
FROM `__came_orders` AS `orders` JOIN `__former_customer` AS `customer` ON c_custkey = o_custkey JOIN `__former_lineitem` l ON l.l_orderkey = o_orderkey)
UNION ALL SELECT *, -1
FROM (SELECT o_orderkey, c_mktsegment, l_quantity
FROM `__went_orders` AS `orders` JOIN `__former_customer` AS `customer` ON c_custkey = o_custkey JOIN `__former_lineitem` l ON l.l_orderkey = o_orderkey)
UNION ALL SELECT *, 1
FROM (SELECT o_orderkey, c_mktsegment, l_quantity
FROM orders JOIN `__came_customer` AS `customer` ON c_custkey = o_custkey JOIN `__former_lineitem` l ON l.l_orderkey = o_orderkey)
UNION ALL SELECT *, -1
FROM (SELECT o_orderkey, c_mktsegment, l_quantity
FROM orders JOIN `__went_customer` AS `customer` ON c_custkey = o_custkey JOIN `__former_lineitem` l ON l.l_orderkey = o_orderkey)
UNION ALL SELECT *, 1
FROM (SELECT o_orderkey, c_mktsegment, l_quantity
FROM orders JOIN customer ON c_custkey = o_custkey JOIN `__came_lineitem` l ON l.l_orderkey = o_orderkey)
UNION ALL SELECT *, -1
FROM (SELECT o_orderkey, c_mktsegment, l_quantity
FROM orders JOIN customer ON c_custkey = o_custkey JOIN `__went_lineitem` l ON l.l_orderkey = o_orderkey)) SELECT `a`, `b`, CAST(sum(`__sign`) AS BIGINT) AS `__copies`
FROM (SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`, `__sign`
FROM __rows)
GROUP BY `a`, `b`
HAVING sum(`__sign`) <> 0
