SELECT a FROM t WHERE a > 1 GROUP BY a HAVING count(*) > 0
-- ~
SELECT a FROM t GROUP BY a HAVING count(*) > 1
