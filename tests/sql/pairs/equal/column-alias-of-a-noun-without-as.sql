SELECT key total FROM t
-- ~
SELECT key AS total FROM t
