SELECT c_mktsegment, COUNT(*) AS orders FROM customer JOIN orders ON c_custkey = o_custkey
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300) GROUP BY c_mktsegment
