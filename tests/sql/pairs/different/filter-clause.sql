SELECT sum(a) FILTER (WHERE b) FROM t
-- ~
SELECT sum(a) FROM t
