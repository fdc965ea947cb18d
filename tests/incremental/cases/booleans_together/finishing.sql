SELECT `__kept`.`key_0` AS `o_custkey`, `__kept`.`extreme_0` AS all_of_them, `__kept`.`extreme_1` AS one
FROM `__kept`
