SELECT struct(a q, b r) AS z FROM t
-- ~
SELECT struct(a AS q, b AS r) AS z FROM t
