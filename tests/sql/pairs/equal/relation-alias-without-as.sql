SELECT q.a FROM t q
-- ~
SELECT q.a FROM t AS q
