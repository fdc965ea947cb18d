SELECT 1 one, 'x' letter, NULL nothing, DATE '2020-01-01' day1
-- ~
SELECT 1 AS one, 'x' AS letter, NULL AS nothing, DATE '2020-01-01' AS day1
