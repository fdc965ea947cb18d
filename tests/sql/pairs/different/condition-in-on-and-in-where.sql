SELECT x.a FROM x LEFT JOIN y ON x.a = y.a AND y.b = 1
-- ~
SELECT x.a FROM x LEFT JOIN y ON x.a = y.a WHERE y.b = 1
