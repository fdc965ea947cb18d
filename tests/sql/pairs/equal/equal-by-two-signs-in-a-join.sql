SELECT x.b FROM x JOIN y ON x.a==y.a
-- ~
SELECT x.b FROM x JOIN y ON x.a = y.a
