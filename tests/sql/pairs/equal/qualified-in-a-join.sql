SELECT A.ID, B.NAME FROM x A JOIN y AS B ON A.ID = B.ID
-- ~
SELECT a.id, b.name FROM x a JOIN y AS b ON a.id = b.id
