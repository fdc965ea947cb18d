SELECT count(*) n, sum(a) total FROM t
-- ~
SELECT count(*) AS n, sum(a) AS total FROM t
