SELECT a FROM t WHERE (a = 1 OR b = 1) AND c = 1
-- ~
SELECT a FROM t WHERE a = 1 OR b = 1 AND c = 1
