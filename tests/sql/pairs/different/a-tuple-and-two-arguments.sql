SELECT count(DISTINCT (a, b)) FROM t
-- ~
SELECT count(DISTINCT a, b) FROM t
