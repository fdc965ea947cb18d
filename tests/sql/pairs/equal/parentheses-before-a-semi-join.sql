SELECT x.b FROM x JOIN y ON (x.a = y.a) LEFT SEMI JOIN u ON (x.b = u.b)
-- ~
SELECT x.b FROM x JOIN y ON x.a = y.a SEMI JOIN u ON x.b = u.b
