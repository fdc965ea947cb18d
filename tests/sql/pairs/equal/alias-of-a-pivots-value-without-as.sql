SELECT * FROM (SELECT a, b FROM t) PIVOT (sum(a) total FOR b IN (1 one, 2 two))
-- ~
SELECT * FROM (SELECT a, b FROM t) PIVOT (sum(a) AS total FOR b IN (1 AS one, 2 AS two))
