SELECT `__kept`.`key_0` AS `c_mktsegment`, `__kept`.`count_0` AS orders
FROM `__kept`
