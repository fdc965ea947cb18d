SELECT window.start AS a, count(*) AS n FROM t GROUP BY window(ts, '1 day')
-- ~
SELECT window.end AS a, count(*) AS n FROM t GROUP BY window(ts, '1 day')
