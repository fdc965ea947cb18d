SELECT t.m.Key FROM t
-- ~
SELECT t.m.key FROM t
