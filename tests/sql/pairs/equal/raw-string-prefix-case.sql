SELECT R'a\d'
-- ~
SELECT r'a\d'
