SELECT `__key_0`
FROM (SELECT `few`.`o_custkey` AS `__key_0`
FROM (
SELECT `orders`.`o_orderkey`, `orders`.`o_custkey`, `orders`.`o_orderdate`, `orders`.`o_shippriority`
FROM `__changed_orders` AS `orders`
WHERE o_shippriority = 0
) AS few LEFT JOIN `__former_customer` AS `customer` ON c_custkey = few.o_custkey
UNION ALL SELECT `few`.`o_custkey` AS `__key_0`
FROM (
SELECT `orders`.`o_orderkey`, `orders`.`o_custkey`, `orders`.`o_orderdate`, `orders`.`o_shippriority`
FROM (SELECT *
FROM orders
WHERE `o_custkey` IN (SELECT `c_custkey`
FROM `__changed_customer`)) AS `orders`
WHERE o_shippriority = 0
) AS few LEFT JOIN customer ON c_custkey = few.o_custkey
UNION ALL SELECT `few`.`o_custkey` AS `__key_0`
FROM (
SELECT `orders`.`o_orderkey`, `orders`.`o_custkey`, `orders`.`o_orderdate`, `orders`.`o_shippriority`
FROM (SELECT *
FROM orders
WHERE `o_custkey` IN (SELECT `c_custkey`
FROM `__changed_customer`)) AS `orders`
WHERE o_shippriority = 0
) AS few LEFT JOIN `__former_customer` AS `customer` ON c_custkey = few.o_custkey)
GROUP BY `__key_0`
