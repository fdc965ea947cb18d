SELECT 'x1f' AS x
-- ~
SELECT 'X1F' AS x
