SELECT x.a FROM x LEFT ANTI JOIN y ON x.a = y.a
-- ~
SELECT x.a FROM x ANTI JOIN y ON x.a = y.a
