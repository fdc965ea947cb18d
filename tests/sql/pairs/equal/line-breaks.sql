SELECT id, name FROM t WHERE id > 3
-- ~
SELECT id,
       name
FROM t
WHERE id > 3
