SELECT a, row_number() OVER (ORDER BY a NULLS LAST) AS q FROM t
-- ~
SELECT a, row_number() OVER (ORDER BY a NULLS FIRST) AS q FROM t
