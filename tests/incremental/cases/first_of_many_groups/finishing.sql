SELECT `__kept`.`key_0` AS `l_orderkey`, (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) AS quantity, `__kept`.`rows` AS items
FROM `__kept`
WHERE `__kept`.`rows` > 1
ORDER BY quantity DESC, `__kept`.`key_0`
LIMIT 10
