SELECT a FROM t WHERE (a = 1 AND b = 2)
-- ~
SELECT a FROM t WHERE a = 1 AND b = 2
