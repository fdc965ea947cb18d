SELECT 1 AS q FROM t u
-- ~
SELECT 1 AS q FROM t, u
