SELECT window.start AS a, count(*) AS n FROM t GROUP BY window(ts, '1 day')
-- ~
select Window.start as a, COUNT(*) as n from t group by WINDOW (ts, '1 day')
