SELECT * FROM x JOIN y ON x.a = y.a
-- ~
SELECT * FROM x JOIN y USING (a)
