SELECT c_mktsegment, COUNT(DISTINCT c_custkey) AS a, COUNT(DISTINCT o_orderkey) AS b
FROM customer LEFT JOIN orders ON o_custkey = c_custkey GROUP BY c_mktsegment
