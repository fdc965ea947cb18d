WITH __added(`0`, `1`) AS (SELECT o_orderkey, explode(sequence(1, o_shippriority)) AS n
FROM `__changed_orders` AS `orders`) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
