SELECT TRUE, NULL, DATE '2020-01-01', INTERVAL 1 DAY
-- ~
select true, null, date '2020-01-01', interval 1 day
