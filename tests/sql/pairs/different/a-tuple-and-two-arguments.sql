SELECT f((a, b)) FROM t
-- ~
SELECT f(a, b) FROM t
