SELECT (all - a) AS x FROM words
-- ~
SELECT all - a AS x FROM words
