SELECT f(((a))) FROM t
-- ~
SELECT f(a) FROM t
