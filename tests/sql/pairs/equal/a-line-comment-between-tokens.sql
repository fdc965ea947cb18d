SELECT id FROM t
-- ~
SELECT -- the key
  id
FROM t
