SELECT a rlike, b FROM t
-- ~
SELECT a regexp, b FROM t
