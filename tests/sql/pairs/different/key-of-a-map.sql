SELECT m.Key FROM t
-- ~
SELECT m.key FROM t
