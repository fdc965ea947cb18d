SELECT x.a, y.b FROM x FULL OUTER JOIN y ON x.a = y.a
-- ~
SELECT x.a, y.b FROM x FULL JOIN y ON x.a = y.a
