SELECT A.ID, B.NAME FROM x A, y B
-- ~
SELECT a.id, b.name FROM x a, y b
