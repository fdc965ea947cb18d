SELECT `Unit Price` FROM t
-- ~
SELECT `unit price` FROM t
