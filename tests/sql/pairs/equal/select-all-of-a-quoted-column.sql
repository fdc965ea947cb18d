SELECT ALL `unit price` FROM t
-- ~
SELECT `unit price` FROM t
