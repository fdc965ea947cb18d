SELECT ALL q.a total, count(*) n FROM x q INNER JOIN y ON (q.a == y.a) LEFT OUTER JOIN u ON u.a = q.a WHERE q.b != 2 GROUP BY (total) UNION DISTINCT SELECT a, CAST(b AS LONG) FROM t ORDER BY n ASC NULLS FIRST, total DESC NULLS LAST LIMIT 5
-- ~
SELECT q.a AS total, count(*) AS n FROM x AS q JOIN y ON q.a = y.a LEFT JOIN u ON u.a = q.a WHERE q.b <> 2 GROUP BY total UNION SELECT a, CAST(b AS BIGINT) FROM t ORDER BY n, total DESC LIMIT 5
