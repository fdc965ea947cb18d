SELECT a, count(*) AS n FROM t GROUP BY (a)
-- ~
SELECT a, count(*) AS n FROM t GROUP BY a
