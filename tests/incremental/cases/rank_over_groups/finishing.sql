SELECT `__kept`.`key_0` AS `o_custkey`, RANK() OVER (ORDER BY (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) DESC) AS place
FROM `__kept`
