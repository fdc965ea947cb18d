SELECT e FROM t LATERAL VIEW explode(xs) l AS e
-- ~
SELECT e FROM t LATERAL VIEW OUTER explode(xs) l AS e
