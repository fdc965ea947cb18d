SELECT `__kept`.`key_0` AS `l_returnflag`, `__kept`.`rows` AS lines, `__kept`.`count_0` AS known
FROM `__kept`
