SELECT (a + b) * c AS x FROM t
-- ~
SELECT a + b * c AS x FROM t
