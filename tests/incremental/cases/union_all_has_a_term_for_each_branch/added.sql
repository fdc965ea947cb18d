WITH __added(`0`, `1`) AS (SELECT *
FROM (SELECT o_orderkey AS k, 'order' AS kind
FROM `__changed_orders` AS `orders`)
UNION ALL SELECT *
FROM (SELECT c_custkey, c_mktsegment
FROM `__changed_customer` AS `customer`)) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
