SELECT (A, b) AS x FROM t
-- ~
SELECT (a, B) AS x FROM t
