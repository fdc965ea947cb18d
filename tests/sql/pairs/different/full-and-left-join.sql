SELECT y.a FROM x FULL OUTER JOIN y ON x.a = y.a
-- ~
SELECT y.a FROM x LEFT OUTER JOIN y ON x.a = y.a
