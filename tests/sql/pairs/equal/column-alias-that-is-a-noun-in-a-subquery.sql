SELECT value FROM (SELECT sum(a) value FROM t)
-- ~
SELECT value FROM (SELECT sum(a) AS value FROM t)
