SELECT `true` FROM t
-- ~
SELECT true FROM t
