SELECT `__kept`.`rows` AS n
FROM `__kept`
