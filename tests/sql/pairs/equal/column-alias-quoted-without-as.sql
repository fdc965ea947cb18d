SELECT a `the total` FROM t
-- ~
SELECT a AS `the total` FROM t
