SELECT q.a FROM VALUES (1), (2) q(a)
-- ~
SELECT q.a FROM VALUES (1), (2) AS q(a)
