SELECT sum(DISTINCT a) AS q FROM t
-- ~
SELECT sum(a) AS q FROM t
