SELECT y.b FROM (SELECT a FROM x) q INNER JOIN y ON q.a = y.a
-- ~
SELECT y.b FROM (SELECT a FROM x) q JOIN y ON q.a = y.a
