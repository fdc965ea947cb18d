SELECT 1 AS a
-- ~
SELECT 1 -- one \
and two
AS a
