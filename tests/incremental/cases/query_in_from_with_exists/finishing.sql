SELECT `__kept`.`key_0` AS `segment`, `__kept`.`rows` AS customers
FROM `__kept`
