SELECT 1 - -1
-- ~
SELECT 1 --1
