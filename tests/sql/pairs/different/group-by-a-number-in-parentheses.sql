SELECT a, count(*) AS n FROM t GROUP BY (1)
-- ~
SELECT a, count(*) AS n FROM t GROUP BY 1
