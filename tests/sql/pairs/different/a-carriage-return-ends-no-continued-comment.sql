SELECT 1 -- a \
AS b
-- ~
SELECT 1
