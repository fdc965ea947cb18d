SELECT a - b AS q FROM t
-- ~
SELECT b - a AS q FROM t
