SELECT * FROM t UNPIVOT (v FOR n IN (A, B))
-- ~
SELECT * FROM t UNPIVOT (v FOR n IN (a, b))
