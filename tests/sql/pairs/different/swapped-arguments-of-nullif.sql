SELECT nullif(a, b) AS q FROM t
-- ~
SELECT nullif(b, a) AS q FROM t
