SELECT x.b, y.a FROM x RIGHT OUTER JOIN y ON x.a = y.a
-- ~
SELECT x.b, y.a FROM x RIGHT JOIN y ON x.a = y.a
