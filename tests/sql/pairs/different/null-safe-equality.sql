SELECT a <=> b AS q FROM t
-- ~
SELECT a = b AS q FROM t
