SELECT x.a FROM x LEFT SEMI JOIN y ON x.a = y.a
-- ~
SELECT x.a FROM x INNER JOIN y ON x.a = y.a
