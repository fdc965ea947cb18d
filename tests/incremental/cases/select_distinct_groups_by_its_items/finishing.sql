SELECT DISTINCT `__kept`.`key_0` AS `o_custkey`
FROM `__kept`
