WITH __added(`0`, `1`) AS (SELECT o_orderkey, year(o_orderdate) AS year
FROM `__changed_orders` AS `orders`
WHERE o_custkey = 1) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
