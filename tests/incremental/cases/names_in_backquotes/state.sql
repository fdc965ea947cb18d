SELECT `my orders`.`o_custkey` AS `key_0`, count(*) AS `rows`
FROM `orders` AS `my orders`
GROUP BY `my orders`.`o_custkey`
