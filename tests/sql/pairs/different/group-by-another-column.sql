SELECT count(*) AS n FROM t GROUP BY a
-- ~
SELECT count(*) AS n FROM t GROUP BY b
