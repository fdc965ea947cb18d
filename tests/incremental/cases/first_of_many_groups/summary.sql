SELECT `key_0`, `rows`, `of_sum_0`, `sum_0`, `size_0`, `place`
FROM (SELECT `__kept`.`key_0`, `__kept`.`rows`, `__kept`.`of_sum_0`, `__kept`.`sum_0`, `__kept`.`size_0`, row_number() OVER (ORDER BY ((CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END)) DESC, `__kept`.`key_0`) AS `place`
FROM `__all` AS `__kept`
WHERE `rows` > 0 AND (`__kept`.`rows` > 1))
WHERE `place` <= 140
