SELECT `__key_0`
FROM (SELECT `few`.`o_custkey` AS `__key_0`
FROM (
SELECT `orders`.`o_orderkey`, `orders`.`o_custkey`, `orders`.`o_orderdate`, `orders`.`o_shippriority`
FROM `__changed_orders` AS `orders`
WHERE o_shippriority = 0
) AS few LEFT JOIN customer ON c_custkey = few.o_custkey)
GROUP BY `__key_0`
