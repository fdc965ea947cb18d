SELECT a IS NULL q, a = b r FROM t
-- ~
SELECT a IS NULL AS q, a = b AS r FROM t
