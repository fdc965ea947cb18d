SELECT upper(c_mktsegment) AS segment, COUNT(*) AS n FROM customer GROUP BY segment HAVING segment <> 'X'
