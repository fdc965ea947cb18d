SELECT a == b FROM t
-- ~
SELECT a = b FROM t
