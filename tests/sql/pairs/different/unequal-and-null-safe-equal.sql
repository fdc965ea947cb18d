SELECT id FROM t WHERE NOT a <=> b
-- ~
SELECT id FROM t WHERE a != b
