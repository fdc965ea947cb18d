SELECT min(a) AS q FROM t
-- ~
SELECT max(a) AS q FROM t
