SELECT col FROM t LATERAL VIEW explode(xs) c
-- ~
SELECT col FROM t LATERAL VIEW explode(xs) AS c
