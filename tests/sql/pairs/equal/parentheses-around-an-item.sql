SELECT (a + b) AS c, (a * 2), (s || 'x') FROM t
-- ~
SELECT a + b AS c, a * 2, s || 'x' FROM t
