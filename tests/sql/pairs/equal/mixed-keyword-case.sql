SELECT DISTINCT id FROM t
-- ~
Select Distinct id From t
