SELECT s LIKE 'x!_' ESCAPE '!' AS q FROM t
-- ~
SELECT s LIKE 'x!_' AS q FROM t
