SELECT `null` FROM words
-- ~
SELECT null FROM words
