SELECT `__kept`.`key_0` AS `segment`, `__kept`.`rows` AS buyers, `__kept`.`count_0` AS orders
FROM `__kept`
