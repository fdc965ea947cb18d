SELECT abs((a + b)) AS x, coalesce(((a)), 1) AS y FROM t
-- ~
SELECT abs(a + b) AS x, coalesce((a), 1) AS y FROM t
