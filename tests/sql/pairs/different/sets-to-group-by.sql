SELECT a, b, count(*) AS n FROM t GROUP BY GROUPING SETS ((a, b), (a))
-- ~
SELECT a, b, count(*) AS n FROM t GROUP BY GROUPING SETS (a, b, a)
