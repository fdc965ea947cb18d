SELECT `__key_0`
FROM (SELECT o_custkey AS `__key_0`
FROM `__changed_orders` AS `orders`
WHERE o_shippriority > 0
UNION ALL SELECT l_orderkey AS `__key_0`
FROM `__changed_lineitem` AS `lineitem`)
GROUP BY `__key_0`
