SELECT (SELECT max(a) FROM u) q FROM t
-- ~
SELECT (SELECT max(a) FROM u) AS q FROM t
