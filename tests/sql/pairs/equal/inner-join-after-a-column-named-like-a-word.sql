SELECT y.b FROM t JOIN x ON x.a = t.key INNER JOIN y ON y.a = x.a
-- ~
SELECT y.b FROM t JOIN x ON x.a = t.key JOIN y ON y.a = x.a
