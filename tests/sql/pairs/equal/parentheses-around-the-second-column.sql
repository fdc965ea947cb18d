SELECT a, (b), (c) AS d FROM t
-- ~
SELECT a, b, c AS d FROM t
