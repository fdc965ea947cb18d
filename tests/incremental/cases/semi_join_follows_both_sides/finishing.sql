SELECT `__kept`.`key_0` AS `o_custkey`, (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) AS s
FROM `__kept`
