SELECT abs(select(a)) AS x FROM t
-- ~
SELECT abs(select a) AS x FROM t
