SELECT o_custkey, o_orderdate, count(*) OVER (PARTITION BY o_custkey) AS a, count(*) OVER (PARTITION BY o_orderdate) AS b FROM orders
