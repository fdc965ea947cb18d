SELECT (all) AS q FROM words
-- ~
SELECT all AS q FROM words
