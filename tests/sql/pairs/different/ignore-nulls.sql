SELECT first(a) IGNORE NULLS FROM t
-- ~
SELECT first(a) FROM t
