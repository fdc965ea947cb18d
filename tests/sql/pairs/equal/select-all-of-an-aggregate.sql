SELECT ALL first(a) AS x FROM (SELECT 1 AS a FROM t)
-- ~
SELECT first(a) AS x FROM (SELECT 1 AS a FROM t)
