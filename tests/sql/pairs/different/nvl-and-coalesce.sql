SELECT nvl(a, b) FROM t
-- ~
SELECT coalesce(a, b) FROM t
