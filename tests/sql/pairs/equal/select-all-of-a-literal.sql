SELECT ALL 'x' AS y, a FROM t
-- ~
SELECT 'x' AS y, a FROM t
