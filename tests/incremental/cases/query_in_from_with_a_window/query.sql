SELECT COUNT(*) AS n, MAX(r) AS r FROM (SELECT rank() OVER (ORDER BY o_custkey) AS r FROM orders) AS o
