SELECT all - a AS q FROM words
-- ~
SELECT - a AS q FROM words
