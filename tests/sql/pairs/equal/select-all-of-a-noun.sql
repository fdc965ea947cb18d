SELECT ALL value, name FROM (SELECT a AS value, name FROM t)
-- ~
SELECT value, name FROM (SELECT a AS value, name FROM t)
