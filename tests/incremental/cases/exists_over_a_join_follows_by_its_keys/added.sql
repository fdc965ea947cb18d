WITH __added(`0`, `1`) AS (SELECT c_custkey, c_mktsegment
FROM `__changed_customer` AS `customer`
WHERE EXISTS (SELECT 1
FROM orders JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_custkey = c_custkey AND l_quantity > 40)) SELECT CAST(`0` AS STRING) AS `a`, CAST(`1` AS INT) AS `b`
FROM __added
