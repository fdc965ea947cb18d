SELECT o_orderkey, year(o_orderdate) AS year FROM orders WHERE o_custkey = 1 ORDER BY year
