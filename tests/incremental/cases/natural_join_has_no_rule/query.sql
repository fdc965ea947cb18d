SELECT o_custkey, COUNT(*) AS n FROM orders NATURAL JOIN returns GROUP BY o_custkey
