SELECT `__kept`.`key_0` AS `o_custkey`, `__kept`.`value` AS days, (CASE WHEN `__kept`.`of_sum_0` > 0 THEN `__kept`.`sum_0` END) AS s, (CASE WHEN `__kept`.`of_sum_0` = 0 THEN NULL WHEN `__kept`.`size_0` > 9007199254740992 THEN CAST(raise_error('what is kept does not surely give what the query gives') AS DOUBLE) ELSE CAST(`__kept`.`sum_0` AS DOUBLE) / CAST(`__kept`.`of_sum_0` AS DOUBLE) END) AS a, `__kept`.`extreme_0` AS first
FROM (SELECT `key_0`, count(`value`) AS `value`, CAST(coalesce(sum(`rows`), 0) AS BIGINT) AS `rows`, CAST(coalesce(sum(`of_sum_0`), 0) AS BIGINT) AS `of_sum_0`, if(sum(`size_0`) >= 0, CAST(sum(`sum_0`) AS BIGINT), NULL) AS `sum_0`, CAST(sum(`size_0`) AS BIGINT) AS `size_0`, CAST(NULL AS DOUBLE) AS `mean_0`, CAST(coalesce(sum(`of_extreme_0`), 0) AS BIGINT) AS `of_extreme_0`, CASE WHEN sum(`of_extreme_0`) > 0 THEN min(`extreme_0`) END AS `extreme_0`
FROM `__kept`
GROUP BY `key_0`) AS `__kept`
WHERE `__kept`.`value` > 1
