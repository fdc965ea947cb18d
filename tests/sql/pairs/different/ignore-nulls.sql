SELECT first(a) IGNORE NULLS AS q FROM t
-- ~
SELECT first(a) AS q FROM t
