SELECT `__kept`.`key_0` AS `o_custkey`, `__kept`.`extreme_0` AS last
FROM `__kept`
