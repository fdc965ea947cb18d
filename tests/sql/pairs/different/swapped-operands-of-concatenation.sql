SELECT s || s2 AS q FROM t
-- ~
SELECT s2 || s AS q FROM t
