SELECT a, b FROM t
-- ~
SELECT b, a FROM t
