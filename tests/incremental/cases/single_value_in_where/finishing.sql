SELECT `__kept`.`key_0` AS `o_custkey`, `__kept`.`rows` AS orders
FROM `__kept`
