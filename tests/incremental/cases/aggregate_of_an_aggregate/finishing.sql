SELECT c_count, COUNT(*) AS custdist
FROM (SELECT `__kept`.`key_0` AS `o_custkey`, `__kept`.`rows` AS c_count
FROM `__kept`) AS c_orders
GROUP BY c_count
