SELECT x.a FROM t x, t y
-- ~
SELECT y.a FROM t x, t y
