SELECT `__kept`.`rows` AS n, `__kept`.`extreme_0` AS c
FROM `__kept`
