SELECT id FROM t WHERE a < 2
-- ~
SELECT id FROM t WHERE a <= 2
