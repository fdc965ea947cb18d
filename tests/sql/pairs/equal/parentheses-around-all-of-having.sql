SELECT a FROM t GROUP BY a HAVING (count(*) > 1 AND a > 0)
-- ~
SELECT a FROM t GROUP BY a HAVING count(*) > 1 AND a > 0
