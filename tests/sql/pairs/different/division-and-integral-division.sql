SELECT a / b FROM t
-- ~
SELECT a DIV b FROM t
