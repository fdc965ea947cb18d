SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
GROUP BY l_orderkey, o_orderdate HAVING revenue > 3 ORDER BY revenue DESC, o_orderdate LIMIT 10
