SELECT all, a FROM words
-- ~
SELECT a FROM words
