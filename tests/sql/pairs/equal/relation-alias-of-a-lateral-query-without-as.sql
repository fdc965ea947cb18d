SELECT q.n FROM t, LATERAL (SELECT t.a + 1 AS n) q
-- ~
SELECT q.n FROM t, LATERAL (SELECT t.a + 1 AS n) AS q
