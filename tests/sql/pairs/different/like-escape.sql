SELECT a LIKE 'x!_' ESCAPE '!' FROM t
-- ~
SELECT a LIKE 'x!_' FROM t
