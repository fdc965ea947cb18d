SELECT e FROM t LATERAL VIEW explode(a) x AS e
-- ~
SELECT e FROM t LATERAL VIEW OUTER explode(a) x AS e
