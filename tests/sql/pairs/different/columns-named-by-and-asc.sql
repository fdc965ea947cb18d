SELECT order by, a asc FROM words
-- ~
SELECT order by, a FROM words
