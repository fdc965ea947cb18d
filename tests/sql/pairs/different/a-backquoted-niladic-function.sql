SELECT `current_date` FROM t
-- ~
SELECT current_date FROM t
