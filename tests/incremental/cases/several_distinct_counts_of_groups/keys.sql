SELECT `__key_0`
FROM (SELECT c_mktsegment AS `__key_0`
FROM `__changed_customer` AS `customer` LEFT JOIN `__former_orders` AS `orders` ON o_custkey = c_custkey
UNION ALL SELECT c_mktsegment AS `__key_0`
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer` LEFT JOIN orders ON o_custkey = c_custkey
UNION ALL SELECT c_mktsegment AS `__key_0`
FROM (SELECT *
FROM customer
WHERE `c_custkey` IN (SELECT `o_custkey`
FROM `__changed_orders`)) AS `customer` LEFT JOIN `__former_orders` AS `orders` ON o_custkey = c_custkey)
GROUP BY `__key_0`
