SELECT `__key_0`
FROM (SELECT o_custkey AS `__key_0`
FROM `__changed_orders` AS `orders`
WHERE o_shippriority < 2 OR o_orderkey IS NULL)
GROUP BY `__key_0`
