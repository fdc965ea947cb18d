SELECT COUNT(DISTINCT o_orderdate) AS days, COUNT(DISTINCT o_custkey) AS customers FROM orders
