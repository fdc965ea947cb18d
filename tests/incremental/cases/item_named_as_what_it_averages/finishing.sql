SELECT `__kept`.`key_0` AS `o_custkey`, (CASE WHEN `__kept`.`of_sum_0` = 0 THEN NULL WHEN `__kept`.`size_0` > 9007199254740992 THEN CAST(raise_error('what is kept does not surely give what the query gives') AS DOUBLE) ELSE CAST(`__kept`.`sum_0` AS DOUBLE) / CAST(`__kept`.`of_sum_0` AS DOUBLE) END) AS o_shippriority
FROM `__kept`
