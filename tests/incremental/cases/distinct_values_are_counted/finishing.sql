SELECT `__kept`.`value` AS n
FROM (SELECT count(`value`) AS `value`, CAST(coalesce(sum(`rows`), 0) AS BIGINT) AS `rows`
FROM `__kept`) AS `__kept`
