SELECT o_custkey AS c, COUNT(*) AS n, n + 1 AS more FROM orders GROUP BY o_custkey
