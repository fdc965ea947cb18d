SELECT (a) q FROM t
-- ~
SELECT (a) AS q FROM t
