SELECT * FROM t WHERE (a - b)
-- ~
SELECT * FROM t WHERE a - b
