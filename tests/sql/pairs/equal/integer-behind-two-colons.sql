SELECT a::INTEGER AS x, s::DEC(5, 2), (a + b)::LONG AS y FROM (SELECT a, b, '1' AS s FROM t)
-- ~
SELECT a::INT AS x, s::DECIMAL(5, 2), (a + b)::BIGINT AS y FROM (SELECT a, b, '1' AS s FROM t)
