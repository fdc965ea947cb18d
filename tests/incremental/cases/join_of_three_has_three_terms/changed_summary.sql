SELECT `key_0`, `key_1`, `rows`, `of_sum_0`, `sum_0`, `size_0`, `place`
FROM (SELECT `key_0`, `key_1`, `rows`, `of_sum_0`, `sum_0`, `size_0`, row_number() OVER (ORDER BY `__at`) AS `place`
FROM (SELECT *, min(CASE WHEN `__last` = 1 THEN `__at` END) OVER () AS `__end`
FROM (SELECT `key_0`, `key_1`, `rows`, `of_sum_0`, `sum_0`, `size_0`, `__was`, `__last`, row_number() OVER (ORDER BY `__order_0` DESC, `__order_1`, `__last` DESC) AS `__at`
FROM (SELECT `__kept`.`key_0`, `__kept`.`key_1`, `__kept`.`rows`, `__kept`.`of_sum_0`, `__kept`.`sum_0`, `__kept`.`size_0`, `__was`, `__last`, ((CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END)) AS `__order_0`, `__kept`.`key_1` AS `__order_1`
FROM (SELECT `key_0`, `key_1`, `rows`, `of_sum_0`, `sum_0`, `size_0`, 1 AS `__was`, 0 AS `__last`
FROM `__kept` AS `k`
WHERE NOT EXISTS (SELECT 1
FROM `__came` AS `c`
WHERE `c`.`key_0` <=> `k`.`key_0` AND `c`.`key_1` <=> `k`.`key_1`)
UNION ALL SELECT `key_0`, `key_1`, `rows`, `of_sum_0`, `sum_0`, `size_0`, 0 AS `__was`, 0 AS `__last`
FROM `__came`
WHERE `rows` > 0
UNION ALL SELECT `key_0`, `key_1`, `rows`, `of_sum_0`, `sum_0`, `size_0`, 0 AS `__was`, 1 AS `__last`
FROM (SELECT `key_0`, `key_1`, `rows`, `of_sum_0`, `sum_0`, `size_0`, `place`, max(`place`) OVER () AS `__most`
FROM `__kept`)
WHERE `place` = `__most`) AS `__kept`
WHERE ((CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END)) > 3)))
WHERE `__last` = 0 AND (`__was` = 1 OR `__end` IS NULL OR `__at` < `__end`))
WHERE `place` <= 140
