SELECT `o_custkey`, COUNT(*) AS `how many` FROM `orders` AS `my orders` GROUP BY `my orders`.`o_custkey`
