SELECT c_mktsegment || 'a' AS x, COUNT(*) AS n FROM customer GROUP BY c_mktsegment || 'A'
