SELECT (distinct - a) AS x FROM words
-- ~
SELECT distinct - a AS x FROM words
