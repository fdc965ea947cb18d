SELECT q.a, r.b FROM x q, y r
-- ~
SELECT q.a, r.b FROM x AS q, y AS r
