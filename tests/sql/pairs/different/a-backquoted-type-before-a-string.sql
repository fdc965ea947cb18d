SELECT `date` '2020-01-01'
-- ~
SELECT date '2020-01-01'
