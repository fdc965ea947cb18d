SELECT l.col FROM t LATERAL VIEW explode(xs) l
-- ~
SELECT l.e FROM t LATERAL VIEW explode(xs) l e
