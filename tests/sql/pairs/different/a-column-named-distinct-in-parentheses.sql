SELECT (distinct) AS x FROM words
-- ~
SELECT distinct AS x FROM words
