WITH __added(`0`, `1`) AS (SELECT k
FROM (SELECT o_orderkey AS k
FROM `__changed_orders` AS `orders`) AS s) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
