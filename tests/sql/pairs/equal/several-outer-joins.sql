SELECT x.a, y.b, u.c FROM x LEFT OUTER JOIN y ON x.a = y.a FULL OUTER JOIN u ON u.a = x.b
-- ~
SELECT x.a, y.b, u.c FROM x LEFT JOIN y ON x.a = y.a FULL JOIN u ON u.a = x.b
