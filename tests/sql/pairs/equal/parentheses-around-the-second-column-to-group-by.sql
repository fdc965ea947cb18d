SELECT a, b, count(*) AS n FROM t GROUP BY a, (b)
-- ~
SELECT a, b, count(*) AS n FROM t GROUP BY a, b
