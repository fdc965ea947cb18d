SELECT id FROM t WHERE a == 1
-- ~
SELECT id FROM t WHERE a = 1
