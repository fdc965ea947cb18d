SELECT a LIKE ANY ('x', 'y') FROM t
-- ~
SELECT a LIKE ALL ('x', 'y') FROM t
