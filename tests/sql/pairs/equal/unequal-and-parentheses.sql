SELECT id FROM t WHERE (a != (3))
-- ~
SELECT id FROM t WHERE a <> 3
