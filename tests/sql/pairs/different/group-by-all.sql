SELECT a, count(*) FROM t GROUP BY ALL
-- ~
SELECT a, count(*) FROM t GROUP BY a
