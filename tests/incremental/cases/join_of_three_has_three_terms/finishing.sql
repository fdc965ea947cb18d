SELECT `__kept`.`key_0` AS `l_orderkey`, (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) AS revenue, `__kept`.`key_1` AS `o_orderdate`
FROM `__kept`
WHERE ((CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END)) > 3
ORDER BY revenue DESC, `__kept`.`key_1` LIMIT 10
