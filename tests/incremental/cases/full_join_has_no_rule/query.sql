SELECT COUNT(*) AS n FROM customer FULL JOIN orders ON c_custkey = o_custkey
