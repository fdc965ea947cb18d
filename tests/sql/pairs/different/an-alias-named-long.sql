SELECT a AS long FROM t
-- ~
SELECT a AS bigint FROM t
