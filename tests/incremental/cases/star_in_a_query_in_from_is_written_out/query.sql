SELECT COUNT(*) AS n, MIN(o_custkey) AS c FROM (SELECT * FROM orders) AS o
