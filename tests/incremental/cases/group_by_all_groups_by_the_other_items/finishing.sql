SELECT `__kept`.`rows` AS n, `__kept`.`key_0` AS `c_mktsegment`, `__kept`.`key_1` AS part
FROM `__kept`
WHERE (`__kept`.`rows`) > 1
