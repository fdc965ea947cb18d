SELECT `__kept`.`key_0` AS segment, `__kept`.`rows` AS n
FROM `__kept`
WHERE (`__kept`.`key_0`) <> 'X'
