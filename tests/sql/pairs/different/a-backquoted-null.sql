SELECT `null` FROM t
-- ~
SELECT null FROM t
