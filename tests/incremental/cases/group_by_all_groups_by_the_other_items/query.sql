SELECT COUNT(*) AS n, c_mktsegment, c_custkey % 10 AS part FROM customer GROUP BY ALL HAVING n > 1
