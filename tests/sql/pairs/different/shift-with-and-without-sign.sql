SELECT a >> 1 AS x FROM t
-- ~
SELECT a >>> 1 AS x FROM t
