SELECT 'A'
-- ~
SELECT 'a'
