SELECT * FROM (SELECT a AS long)  FROM t
-- ~
SELECT * FROM (SELECT a AS bigint) FROM t
