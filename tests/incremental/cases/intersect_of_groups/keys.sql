SELECT `__key_0`
FROM (SELECT o_custkey AS `__key_0`
FROM `__changed_orders` AS `orders`
UNION ALL SELECT l_orderkey AS `__key_0`
FROM `__changed_lineitem` AS `lineitem`)
GROUP BY `__key_0`
