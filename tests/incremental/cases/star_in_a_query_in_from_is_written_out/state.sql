SELECT count(*) AS `rows`, count(o_custkey) AS `of_extreme_0`, MIN(o_custkey) AS `extreme_0`
FROM (SELECT `orders`.`o_orderkey`, `orders`.`o_custkey`, `orders`.`o_orderdate`, `orders`.`o_shippriority`
FROM orders) AS o
