WITH `__groups` AS (SELECT *
FROM `__all`
WHERE `rows` > 0) SELECT `__kept`.`key_0` AS `key_0`, count(*) AS `rows`
FROM `__groups` AS `__kept`
GROUP BY `__kept`.`key_0`
