SELECT `__kept`.`key_0` AS `c_mktsegment`, `__kept`.`rows` AS orders
FROM `__kept`
