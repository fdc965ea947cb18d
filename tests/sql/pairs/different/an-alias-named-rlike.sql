SELECT a rlike FROM t
-- ~
SELECT a regexp FROM t
