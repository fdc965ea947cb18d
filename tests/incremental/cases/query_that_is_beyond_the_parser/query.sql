SELECT o.o_custkey from, COUNT(*) AS where FROM orders o GROUP BY o.o_custkey
