SELECT c_mktsegment, COUNT(o_orderkey) AS orders
FROM customer LEFT JOIN orders ON c_custkey = o_custkey GROUP BY c_mktsegment
