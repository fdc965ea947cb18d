WITH __added(`0`, `1`) AS (SELECT c_custkey, c_mktsegment
FROM `__changed_customer` AS `customer`
WHERE c_custkey IN (SELECT DISTINCT o_custkey
FROM orders
WHERE o_orderkey IN (SELECT l_orderkey
FROM lineitem))) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
