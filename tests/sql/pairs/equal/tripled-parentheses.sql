SELECT abs(((a))) FROM t
-- ~
SELECT abs(a) FROM t
