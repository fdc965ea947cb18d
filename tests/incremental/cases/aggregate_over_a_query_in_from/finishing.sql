SELECT `__kept`.`key_0` AS `flag`, (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) AS price, `__kept`.`rows` AS n
FROM `__kept`
