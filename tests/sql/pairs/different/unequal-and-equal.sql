SELECT id FROM t WHERE a != b
-- ~
SELECT id FROM t WHERE a == b
