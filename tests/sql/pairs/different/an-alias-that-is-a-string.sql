SELECT a AS b, 'c' AS d FROM t
-- ~
SELECT a AS b, 'c' AS e FROM t
