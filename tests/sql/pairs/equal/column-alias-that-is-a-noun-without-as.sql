SELECT a value, b name, c year FROM t
-- ~
SELECT a AS value, b AS name, c AS year FROM t
