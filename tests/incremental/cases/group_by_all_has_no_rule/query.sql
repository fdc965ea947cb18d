SELECT c_mktsegment, COUNT(*) AS n FROM customer GROUP BY ALL
