SELECT c_mktsegment, COUNT(*) AS n FROM customer GROUP BY ROLLUP (c_mktsegment)
