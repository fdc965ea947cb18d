SELECT id FROM t WHERE (a = 1) AND (b = 2)
-- ~
SELECT id FROM t WHERE a = 1 AND b = 2
