WITH `__changed___groups` AS (SELECT `key_0`, `rows`, 'insert' AS `__change`
FROM `__came`
WHERE `rows` > 0
UNION ALL SELECT `w`.`key_0`, `w`.`rows`, 'delete' AS `__change`
FROM `__were` AS `w`
WHERE `w`.`rows` > 0 AND EXISTS (SELECT 1
FROM `__came` AS `c`
WHERE `c`.`key_0` <=> `w`.`key_0`)) SELECT `key_0`, `rows`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT `__kept`.`key_0` AS `key_0`, count(*) AS `rows`, `__kept`.`__change` AS `__change`
FROM `__changed___groups` AS `__kept`
GROUP BY `__kept`.`key_0`, `__kept`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
