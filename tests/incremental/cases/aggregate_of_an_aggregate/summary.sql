WITH `__groups` AS (SELECT *
FROM `__all`
WHERE `rows` > 0) SELECT c_count AS `key_0`, count(*) AS `rows`
FROM (SELECT `__kept`.`key_0` AS `o_custkey`, `__kept`.`rows` AS c_count
FROM `__groups` AS `__kept`) AS c_orders
GROUP BY c_count
