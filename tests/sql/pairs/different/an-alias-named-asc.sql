SELECT a asc FROM t
-- ~
SELECT a FROM t
