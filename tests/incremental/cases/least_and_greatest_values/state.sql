SELECT o_custkey AS `key_0`, count(*) AS `rows`, count(o_orderdate) AS `of_extreme_0`, MAX(o_orderdate) AS `extreme_0`
FROM orders
GROUP BY o_custkey
