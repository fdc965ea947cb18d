SELECT `__kept`.`key_0` AS `l_returnflag`, `__kept`.`key_1` AS `l_linestatus`, (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) AS sum_qty, (CASE WHEN `__kept`.`of_sum_0` = 0 THEN NULL WHEN false THEN CAST(raise_error('what is kept does not surely give what the query gives') AS decimal(19,6)) ELSE CAST(CAST(`__kept`.`sum_0` AS DECIMAL(34,2)) / CAST(`__kept`.`of_sum_0` AS DECIMAL(20,0)) AS decimal(19,6)) END) AS avg_qty, `__kept`.`rows` AS count_order
FROM `__kept`
ORDER BY `__kept`.`key_0`, `__kept`.`key_1`
