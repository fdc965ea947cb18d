SELECT "A"
-- ~
SELECT "a"
