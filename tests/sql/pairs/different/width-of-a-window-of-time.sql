SELECT window.start AS a, count(*) AS n FROM t GROUP BY window(ts, '1 day')
-- ~
SELECT window.start AS a, count(*) AS n FROM t GROUP BY window(ts, '2 days')
