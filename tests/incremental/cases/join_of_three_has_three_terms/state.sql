SELECT l_orderkey AS `key_0`, o_orderdate AS `key_1`, count(*) AS `rows`, count(l_extendedprice * (1 - l_discount)) AS `of_sum_0`, sum(l_extendedprice * (1 - l_discount)) AS `sum_0`, sum(abs(l_extendedprice * (1 - l_discount))) AS `size_0`
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
GROUP BY l_orderkey, o_orderdate
