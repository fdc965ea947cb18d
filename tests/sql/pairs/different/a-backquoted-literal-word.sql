SELECT `true` FROM words
-- ~
SELECT true FROM words
