SELECT count(*) AS n FROM t GROUP BY (a, b)
-- ~
SELECT count(*) AS n FROM t GROUP BY a
