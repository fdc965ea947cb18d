SELECT s rlike as FROM words
-- ~
SELECT s rlike FROM words
