SELECT `__key_0`
FROM (SELECT o_custkey AS `__key_0`
FROM `__changed_orders` AS `orders`)
GROUP BY `__key_0`
