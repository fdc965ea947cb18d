SELECT a total FROM t
-- ~
SELECT a AS total FROM t
