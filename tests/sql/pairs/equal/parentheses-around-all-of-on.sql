SELECT x.a FROM x LEFT JOIN y ON (x.id = y.id AND x.k > y.k) LEFT JOIN u ON (u.id = x.id OR u.id IS NULL)
-- ~
SELECT x.a FROM x LEFT JOIN y ON x.id = y.id AND x.k > y.k LEFT JOIN u ON u.id = x.id OR u.id IS NULL
