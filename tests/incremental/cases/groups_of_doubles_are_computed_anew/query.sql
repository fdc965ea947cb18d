SELECT l_returnflag, SUM(weight) AS weight, AVG(weight) FROM lineitem JOIN returns ON o_orderkey = l_orderkey
GROUP BY l_returnflag
