SELECT `__kept`.`key_0` AS c, `__kept`.`count_0` AS urgent, `__kept`.`count_1` AS dated,
 (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) AS calm
FROM `__kept`
