SELECT sum((distinct - a)) AS x FROM words
-- ~
SELECT sum(distinct - a) AS x FROM words
