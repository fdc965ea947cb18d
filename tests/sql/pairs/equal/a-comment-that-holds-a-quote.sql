SELECT id FROM t
-- ~
SELECT id -- it's the key
FROM t
