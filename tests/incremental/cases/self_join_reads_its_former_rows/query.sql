SELECT a.o_custkey, COUNT(*) AS pairs FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey GROUP BY a.o_custkey
