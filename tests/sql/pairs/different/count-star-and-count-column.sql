SELECT count(*) FROM t
-- ~
SELECT count(a) FROM t
