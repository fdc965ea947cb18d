SELECT a - (b - c) FROM t
-- ~
SELECT a - b - c FROM t
