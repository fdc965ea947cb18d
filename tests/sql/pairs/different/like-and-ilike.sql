SELECT s LIKE 'b' AS q FROM t
-- ~
SELECT s ILIKE 'b' AS q FROM t
