SELECT `__kept`.`key_0` AS `o_custkey`, `__kept`.`rows` AS n
FROM `__kept`
