SELECT id FROM t WHERE a IN ((b + 1))
-- ~
SELECT id FROM t WHERE a IN (b + 1)
