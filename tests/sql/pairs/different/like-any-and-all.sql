SELECT s LIKE ANY ('A', 'b') AS q FROM t
-- ~
SELECT s LIKE ALL ('A', 'b') AS q FROM t
