SELECT id FROM t WHERE a = (key) AND b = 1
-- ~
SELECT id FROM t WHERE a = key AND b = 1
