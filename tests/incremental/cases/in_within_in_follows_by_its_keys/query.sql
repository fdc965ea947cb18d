SELECT c_custkey, c_mktsegment
FROM customer
WHERE c_custkey IN (SELECT DISTINCT o_custkey FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem))
