SELECT `__key_0`
FROM (SELECT c_mktsegment AS `__key_0`
FROM `__changed_customer` AS `customer` LEFT JOIN `__former_orders` AS `orders` ON o_custkey = c_custkey
UNION ALL SELECT c_mktsegment AS `__key_0`
FROM customer LEFT JOIN orders ON o_custkey = c_custkey
WHERE `customer`.`c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)
UNION ALL SELECT c_mktsegment AS `__key_0`
FROM customer LEFT JOIN `__former_orders` AS `orders` ON o_custkey = c_custkey
WHERE `customer`.`c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`))
GROUP BY `__key_0`
