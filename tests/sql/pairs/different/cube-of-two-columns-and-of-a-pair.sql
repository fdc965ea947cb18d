SELECT (a, b) IS NULL AS total, count(*) AS n FROM t GROUP BY CUBE ((a, b))
-- ~
SELECT (a, b) IS NULL AS total, count(*) AS n FROM t GROUP BY CUBE (((a, b)))
