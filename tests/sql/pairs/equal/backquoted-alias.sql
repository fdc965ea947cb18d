SELECT a AS `total` FROM t
-- ~
SELECT a AS total FROM t
