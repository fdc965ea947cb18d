SELECT count(DISTINCT a) FROM t
-- ~
SELECT count(a) FROM t
