WITH __added(`0`, `1`) AS (SELECT o_orderkey, c_mktsegment, l_quantity
FROM `__changed_orders` AS `orders` JOIN `__former_customer` AS `customer` ON c_custkey = o_custkey JOIN `__former_lineitem` l ON l.l_orderkey = o_orderkey
UNION ALL SELECT o_orderkey, c_mktsegment, l_quantity
FROM orders JOIN `__changed_customer` AS `customer` ON c_custkey = o_custkey JOIN `__former_lineitem` l ON l.l_orderkey = o_orderkey
UNION ALL SELECT o_orderkey, c_mktsegment, l_quantity
FROM orders JOIN customer ON c_custkey = o_custkey JOIN `__changed_lineitem` l ON l.l_orderkey = o_orderkey) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
