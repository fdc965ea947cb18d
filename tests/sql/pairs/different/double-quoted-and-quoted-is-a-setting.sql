SELECT "x" AS q
-- ~
SELECT 'x' AS q
