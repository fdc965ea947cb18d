SELECT x.a, y.b FROM x LEFT OUTER JOIN y ON x.a = y.a
-- ~
SELECT x.a, y.b FROM x LEFT JOIN y ON x.a = y.a
