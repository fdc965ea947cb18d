SELECT id FROM t
-- ~
SELECT id /* a /* b */ c */ FROM t
