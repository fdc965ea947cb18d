SELECT sum(a) FILTER (WHERE p) AS q FROM t
-- ~
SELECT sum(a) AS q FROM t
