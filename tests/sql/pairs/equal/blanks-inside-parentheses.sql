SELECT count(a) FROM t
-- ~
SELECT count( a ) FROM t
