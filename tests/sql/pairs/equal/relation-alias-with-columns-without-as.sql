SELECT q.c1 FROM (SELECT a, b FROM t) q(c1, c2)
-- ~
SELECT q.c1 FROM (SELECT a, b FROM t) AS q(c1, c2)
