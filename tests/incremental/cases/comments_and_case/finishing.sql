SELECT `__kept`.`key_0` AS `O_CUSTKEY`, -- of whom
 `__kept`.`rows` as N
FROM `__kept`
