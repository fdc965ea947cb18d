SELECT q.a, r.b FROM x q JOIN y r ON q.a = r.a
-- ~
SELECT q.a, r.b FROM x AS q JOIN y AS r ON q.a = r.a
