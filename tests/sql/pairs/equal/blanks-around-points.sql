SELECT x.id FROM t x
-- ~
SELECT x . id FROM t x
