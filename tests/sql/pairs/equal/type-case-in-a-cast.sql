SELECT CAST(a AS DECIMAL(5, 2)) FROM t
-- ~
SELECT cast(a AS decimal(5,2)) FROM t
