SELECT x.a FROM t x, u y
-- ~
SELECT y.a FROM t x, u y
