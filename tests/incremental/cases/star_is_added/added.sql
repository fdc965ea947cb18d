WITH __added(`0`, `1`) AS (SELECT o.*, c_mktsegment
FROM `__changed_orders` o LEFT JOIN customer ON c_custkey = o.o_custkey) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
