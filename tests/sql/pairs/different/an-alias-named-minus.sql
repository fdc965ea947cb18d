SELECT a minus FROM t
-- ~
SELECT a except FROM t
