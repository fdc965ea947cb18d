SELECT 'a;'
-- ~
SELECT 'a'
