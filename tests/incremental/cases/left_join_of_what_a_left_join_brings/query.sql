SELECT l_returnflag, COUNT(*) AS lines, COUNT(c_custkey) AS known
FROM lineitem LEFT JOIN orders ON l_orderkey = o_orderkey LEFT JOIN customer ON o_custkey = c_custkey
GROUP BY l_returnflag
