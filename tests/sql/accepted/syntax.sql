-- Queries that Spark accepts, over the tables of pairs/schema.sql: each shows a rule of its grammar. One stands up to its
-- semicolon. Spark judges that they are queries; the front end refuses none.

-- literals
SELECT X'1F' AS a, X '1F' AS b, x
  "2e" AS c, X'' AS d;
SELECT 1Y AS a, 1S AS b, 1L AS c, 1.5BD AS d, 1.5D AS e, 1.5F AS f, 1e3 AS g, .5 AS h, 5. AS i, 1E-3BD AS j;
SELECT DATE '2020-01-01' AS a, TIMESTAMP '2020-01-01 00:00:00' AS b, TIMESTAMP_NTZ '2020-01-01 00:00:00' AS c;
SELECT TIMESTAMP_LTZ '2020-01-01 00:00:00' AS d, date'2020-01-01' AS e;
SELECT INTERVAL 1 DAY AS a, INTERVAL '1' MONTH AS b, INTERVAL '1-2' YEAR TO MONTH AS c, INTERVAL '1 day 2 hours' AS d;
SELECT INTERVAL -1 DAY AS a, - INTERVAL 1 DAY AS b, INTERVAL '1 02:03:04' DAY TO SECOND AS c, INTERVAL 1 YEAR 2 MONTHS AS d;
SELECT INTERVAL 3 WEEKS + INTERVAL 2 HOURS AS a, 1 * INTERVAL '2' DAY AS b;
SELECT 'a' 'b' AS a, "a" "b" AS b, r'\d' AS c, R"\w" AS d, 'it''s' AS e, "say ""so""" AS f, 'a\tb' AS g;
SELECT TRUE AS a, false AS b, NULL AS c, CURRENT_DATE AS d, current_timestamp AS e, CURRENT_USER AS f, now() AS g;
SELECT current_date() AS a, localtimestamp() AS b, current_time IS NULL AS c, current_timezone() AS d;

-- operators
SELECT a >>> 1 AS a, a >> 1 AS b, a << 1 AS c, a & b AS d, a | b AS e, a ^ b AS f, ~a AS g, 4>>>1 AS h FROM t;
SELECT a !< b AS a, a !> b AS b, a <> b AS c, a != b AS d, a == b AS e, a <=> b AS f, NOT p AS g, ! p AS h, !p AS i FROM t;
SELECT a FROM t WHERE a!<1 AND b!>2 OR NOT a !< b;
SELECT a DIV b AS a, a % b AS b, -a AS d, +a AS e, a - -b AS f, s || s2 AS g FROM t;
SELECT s LIKE 'a%' AS a, s LIKE 'a!_' ESCAPE '!' AS b, s ILIKE 'A%' AS c, s RLIKE 'a+' AS d, s REGEXP 'a+' AS e FROM t;
SELECT s NOT LIKE 'a' AS a, s NOT RLIKE 'a' AS b, s LIKE ANY ('a', 'b') AS c, s LIKE ALL ('a', 'b') AS d FROM t;
SELECT s LIKE SOME ('a%', s2) AS a, s NOT LIKE ANY ('a') AS b, s ILIKE ANY ('a', 'b') AS c, s NOT ILIKE 'x' AS d FROM t;
SELECT a BETWEEN 1 AND 2 AS a, a NOT BETWEEN b AND c AS b, a IN (1, 2) AS c, a NOT IN (1) AS d FROM t;
SELECT a IS NULL AS a, a IS NOT NULL AS b, p IS TRUE AS c, p IS NOT FALSE AS d, p IS UNKNOWN AS e FROM t;
SELECT a IS DISTINCT FROM b AS a, a IS NOT DISTINCT FROM b AS b FROM t;
SELECT a::STRING AS a, a::DECIMAL(5, 2)::INT AS b, '1'::INT + 1 AS c, CAST(a AS BIGINT) AS d, TRY_CAST(s AS INT) AS e FROM t;
SELECT CAST(s AS TIMESTAMP_NTZ) AS a, CAST(s AS BINARY) AS b, CAST(xs AS ARRAY<STRING>) AS c, CAST(NULL AS MAP<STRING, INT>) AS d FROM t;
SELECT CAST(NULL AS STRUCT<a: INT, b: ARRAY<STRUCT<c: INT>>>) AS a, CAST(NULL AS INTERVAL DAY TO SECOND) AS b, CAST(NULL AS VOID) AS c;
SELECT CAST('1' AS VARIANT) AS a, CAST(NULL AS STRUCT<a INT COMMENT 'x', b STRING>) AS b, CAST(NULL AS TIMESTAMP_LTZ) AS c;
SELECT xs[0] AS a, m['a'] AS b, xs[a + 1] AS c, element_at(m, 'a') AS d, named_struct('x', 1).x AS e FROM t;
SELECT CASE WHEN a = 1 THEN 2 ELSE 3 END AS a, CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END AS b, if(p, 1, 2) AS c FROM t;
SELECT s COLLATE UTF8_LCASE = 'x' AS a FROM t;
SELECT EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AS a, a IN (SELECT a FROM u) AS b, (SELECT max(a) FROM u) AS c FROM t;
SELECT (a, b) IN ((1, 2), (3, 4)) AS a, (a, b) = (b, a) AS b, struct(a, b) AS c, (1, 2) AS d FROM t;
SELECT (a, b) IN (SELECT a, b FROM u) AS a FROM t;

-- functions of a syntax of their own
SELECT EXTRACT(YEAR FROM d) AS a, EXTRACT(doy FROM d) AS b, date_part('month', d) AS c, extract(day FROM ts) AS d FROM t;
SELECT TRIM(s) AS a, TRIM(BOTH 'x' FROM s) AS b, TRIM(LEADING FROM s) AS c, TRIM('x' FROM s) AS d, TRIM(TRAILING 'y' FROM s) AS e FROM t;
SELECT SUBSTRING(s FROM 2) AS a, SUBSTRING(s FROM 2 FOR 3) AS b, SUBSTR(s, 2) AS c, POSITION('x' IN s) AS d, OVERLAY(s PLACING 'x' FROM 2 FOR 1) AS e FROM t;
SELECT POSITION('x', s) AS a, overlay(s, 'x', 2) AS b, position('x', s, 2) AS c FROM t;
SELECT TIMESTAMPADD(DAY, 1, ts) AS a, TIMESTAMPDIFF(HOUR, ts, ts) AS b, DATEADD(MONTH, 1, d) AS c, DATE_ADD(d, 1) AS d, DATEDIFF(d, d) AS e FROM t;
SELECT DATEDIFF(DAY, ts, ts) AS a, date_diff(d, d) AS b, DATE_DIFF(YEAR, ts, ts) AS c, DATE_SUB(d, 1) AS d FROM t;
SELECT left(s, 1) AS a, right(s, 1) AS b, replace(s, 'a') AS c, filter(xs, x -> x > 1) AS d, exists(xs, x -> x = 1) AS e FROM t;
SELECT transform(xs, (x, i) -> x + i) AS a, aggregate(xs, 0, (acc, x) -> acc + x, acc -> acc * 2) AS b, reduce(xs, 0, (acc, x) -> acc + x) AS c FROM t;
SELECT map_filter(m, (k, v) -> v > 1) AS a, zip_with(xs, xs, (x, y) -> x + y) AS b, array_sort(xs, (x, y) -> x - y) AS c FROM t;
SELECT any(p) AS a, some(p) AS b, every(p) AS c, any_value(a) AS d, first(a) AS e, first(a, true) AS f, last(a) IGNORE NULLS AS g FROM t;
SELECT first_value(a) AS a, last_value(a, true) AS b, any_value(a) IGNORE NULLS AS c, count_if(p) AS d, min_by(a, b) AS e, max_by(a, b, 2) AS f FROM t;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS a, percentile_disc(0.5) WITHIN GROUP (ORDER BY a DESC) AS b, mode(a) AS c FROM t;
SELECT mode() WITHIN GROUP (ORDER BY a DESC) AS a, listagg(s, ',') WITHIN GROUP (ORDER BY s) AS b, string_agg(DISTINCT s) AS c, median(a) AS d FROM t;
SELECT count(*) AS a, count(* EXCEPT (a)) AS b, count(*, 1) AS c, count(ALL *) AS d, count(a, *) AS e FROM t;
SELECT greatest(*) AS a, least(* EXCEPT (c), 3) AS b, nvl(t.* EXCEPT (b)) AS c, 1 IN (*) AS d, hash(*) AS e FROM (SELECT a, b, 1 AS c FROM t) t;
SELECT count(DISTINCT a, b) AS a, count(*) FILTER (WHERE a > 1) AS b, sum(DISTINCT a) FILTER (WHERE p) AS c, count(ALL a) AS d FROM t;
SELECT approx_percentile(a, array(0.1, 0.5), 100) AS a, collect_list(DISTINCT s) AS b, count(a, b) AS c, sum(a) AS d FROM t;
SELECT date_trunc('DAY', ts) AS a, make_date(2020, 1, 1) AS b, make_interval(1, 2) AS c, to_timestamp(s, 'yyyy') AS d, unix_timestamp(s) AS e FROM t;
SELECT ceil(1.25, 1) AS a, floor(1.25, 1) AS b, round(1.5) AS c, log(2, 8) AS d, log(8) AS e, ltrim('x', s) AS f, lpad(s, 5) AS g FROM t;
SELECT mask(s) AS a, try_divide(a, b) AS b, decode(a, 1, 'x', 'y') AS c, nvl2(a, b, c) AS d, split_part(s, ',', 1) AS e FROM t;
SELECT mask(s, lowerChar => 'q') AS a, encode(s, 'utf-8') AS b, char(65) AS c, hex(a) AS d, format_string('%d', a) AS e FROM t;

-- grouping by windows of time
SELECT window.start AS a, window.end AS b, count(*) AS n FROM t GROUP BY window(ts, '5 minutes');
SELECT window, sum(a) AS n FROM t GROUP BY window(ts, '10 minutes', '5 minutes');
SELECT a, Window.Start, count(*) AS n FROM t GROUP BY a, WINDOW(ts, '10 minutes', '5 minutes', '1 minute') HAVING count(*) > 1;
SELECT session_window.start, session_window.end, count(*) AS n FROM t GROUP BY session_window(ts, '5 minutes'), a ORDER BY start;
SELECT window(ts, '1 hour') AS w, count(*) AS n FROM t GROUP BY window(ts, '1 hour');
SELECT window(ts, '1 hour').start AS w, count(*) AS n FROM t GROUP BY window(ts, '1 hour') ORDER BY window.start;
SELECT window_time(window) AS w, n FROM (SELECT window, count(*) AS n FROM t GROUP BY window(ts, '1 hour'));
SELECT window.start AS a, max(n) AS m FROM (SELECT window, a, count(*) AS n FROM t GROUP BY window(ts, '1 minute'), a) GROUP BY window;
SELECT v.window.start AS a FROM (SELECT window, count(*) AS n FROM t GROUP BY window(ts, '1 minute')) v;
SELECT window AS w, a FROM (SELECT window(ts, '1 minute') AS window, a FROM t);
SELECT x.window.end FROM (SELECT window(ts, '1 minute'), a FROM t) x;
SELECT window.start, a FROM (SELECT window(ts, '1 minute'), a FROM t);
SELECT window.start, n FROM (SELECT count(*) AS n, window(ts, '1 day') FROM t GROUP BY window(ts, '1 day')) WHERE window.end > TIMESTAMP '2020-01-01 00:00:00';
SELECT date_format(window.start, 'HH') AS h, n FROM (SELECT window, count(*) AS n FROM t GROUP BY window(ts, '1 day') HAVING count(*) > 0 UNION ALL SELECT window(ts, '1 day'), 1 FROM t) WHERE 1 = 0;

-- windows
SELECT rank() OVER (ORDER BY a) AS a, rank(b) OVER (ORDER BY b) AS b, dense_rank(a) OVER (ORDER BY a) AS c, percent_rank(b) OVER w AS d FROM t WINDOW w AS (ORDER BY b);
SELECT row_number() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST) AS a, ntile(2) OVER (ORDER BY a) AS b, cume_dist() OVER (ORDER BY a) AS c FROM t;
SELECT lag(a) OVER (ORDER BY b) AS a, lead(a, 2, 0) OVER (ORDER BY b) AS b, lag(a) IGNORE NULLS OVER (ORDER BY b) AS c, nth_value(a, 2) OVER (ORDER BY b) AS d FROM t;
SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS a, sum(a) OVER (ORDER BY b ROWS 2 PRECEDING) AS b FROM t;
SELECT sum(a) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS a, sum(a) OVER (ORDER BY a RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS b FROM t;
SELECT sum(a) OVER w AS a, sum(b) OVER (w) AS b, count(*) OVER () AS c FROM t WINDOW w AS (PARTITION BY c), v AS (ORDER BY a);
SELECT sum(a) OVER (DISTRIBUTE BY b SORT BY c) AS a, sum(a) OVER (CLUSTER BY b) AS b FROM t;
SELECT sum(sum(a)) OVER (PARTITION BY b) AS a, b FROM t GROUP BY b;
SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1;

-- sources
SELECT c1 FROM t LATERAL VIEW explode(xs) e AS c1;
SELECT i FROM t LATERAL VIEW explode(xs) e i;
SELECT p1, c1 FROM t LATERAL VIEW OUTER posexplode(xs) e p1, c1 WHERE c1 > 1;
SELECT i, j FROM t LATERAL VIEW explode(xs) e1 i LATERAL VIEW explode(xs) e2 AS j WHERE i = j;
SELECT k1, v1 FROM t LATERAL VIEW explode(m) e k1, `v1` GROUP BY k1, v1;
SELECT e.col FROM t LATERAL VIEW explode(xs) e;
SELECT key, value FROM (SELECT m FROM t) LATERAL VIEW explode(m) e key, value WHERE key = 'a' ORDER BY value;
SELECT x.r, y.x FROM (SELECT xs FROM t) LATERAL VIEW explode(xs) x r LATERAL VIEW OUTER explode(xs) y AS x;
SELECT e.col FROM t LATERAL VIEW explode(xs) e GROUP BY e.col;
SELECT col FROM t LATERAL VIEW explode(xs) e UNION ALL SELECT a FROM u;
SELECT explode(xs) FROM t;
SELECT explode(m) AS (k1, v1), a FROM t;
SELECT a, stack(2, 1, 'x', 2, 'y') AS (n, l) FROM t;
SELECT inline(array(struct(1 AS one, 'a' AS two)));
SELECT json_tuple(s, 'a', 'b') AS (a1, b1) FROM t;
SELECT * FROM explode(array(1, 2));
SELECT v FROM explode(array(1, 2)) AS e(v);
SELECT t.id, e.col FROM t, LATERAL explode(t.xs) AS e;
SELECT t.id, e.v FROM t JOIN LATERAL explode(t.xs) AS e(v);
SELECT t.id, e.z FROM t LEFT JOIN LATERAL (SELECT u.a AS z FROM u WHERE u.id = t.id) e ON true;
SELECT id FROM range(10);
SELECT r.id FROM range(1, 10, 2) AS r;
SELECT col1, col2 FROM VALUES (1, 'a'), (2, 'b');
SELECT n, l FROM VALUES (1, 'a'), (2, 'b') AS v(n, l);
SELECT v.n FROM (VALUES (1), (2)) AS v(n);
VALUES (1, 'a'), (2, 'b');
SELECT a FROM t TABLESAMPLE (10 PERCENT);
SELECT a FROM t TABLESAMPLE (5 ROWS);
SELECT a FROM t TABLESAMPLE (BUCKET 1 OUT OF 4) s;
SELECT a FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (42);
SELECT z.a1 FROM t AS z(id1, a1, b1, c1, k1, up, lo, s1, s3, n1, p1, q1, r1, d1, ts1, xs1, m1);
SELECT t.a FROM t JOIN u ON t.id = u.id JOIN x USING (id) LEFT JOIN y ON y.id = t.id CROSS JOIN orders RIGHT JOIN lineitem ON true;
SELECT t.a FROM t LEFT SEMI JOIN u ON t.id = u.id LEFT ANTI JOIN x ON x.id = t.id;
SELECT id FROM t NATURAL JOIN u;
SELECT t.id FROM t FULL OUTER JOIN u USING (id, a);
SELECT t.a FROM (t JOIN u ON t.id = u.id) JOIN x ON x.id = t.id;
SELECT t.a, u.b FROM t, u, x WHERE t.id = u.id;
SELECT t.a FROM t INNER JOIN (u INNER JOIN x ON u.id = x.id) ON t.id = u.id;
TABLE u;
FROM t SELECT a WHERE b > 1;
FROM t SELECT a, b;
SELECT * FROM (SELECT a, b FROM u) PIVOT (sum(b) FOR a IN (1, 2 AS two));
SELECT * FROM (SELECT a, b, s FROM u) PIVOT (sum(b) AS total, max(b) AS most FOR (a, s) IN ((1, 'x') AS one, (2, 'y') AS two));
SELECT * FROM u UNPIVOT (val FOR nam IN (a, b, c));
SELECT * FROM u UNPIVOT INCLUDE NULLS ((v1, v2) FOR nam IN ((a, b) AS ab, (b, c) AS bc));
SELECT * FROM u UNPIVOT EXCLUDE NULLS (val FOR nam IN (a AS first_one, b)) AS p;

-- clauses
SELECT ALL a FROM t;
SELECT DISTINCT a, b FROM t;
SELECT a FROM t ORDER BY a ASC NULLS LAST, b DESC, 1 LIMIT 5 OFFSET 2;
SELECT a FROM t ORDER BY ALL;
SELECT a, b FROM t ORDER BY ALL DESC LIMIT ALL;
SELECT a FROM t SORT BY a DESC;
SELECT a FROM t DISTRIBUTE BY a SORT BY b;
SELECT a FROM t CLUSTER BY a;
SELECT a, count(*) AS n FROM t GROUP BY a HAVING n > 1;
SELECT a, b, sum(c) AS n FROM t GROUP BY ROLLUP (a, b);
SELECT a, b, sum(c) AS n, grouping(a) AS g, grouping_id() AS h FROM t GROUP BY CUBE (a, b);
SELECT a, b, sum(c) AS n FROM t GROUP BY GROUPING SETS ((a, b), (a), ());
SELECT a, b, sum(c) AS n FROM t GROUP BY a, b WITH ROLLUP;
SELECT a, b, sum(c) AS n FROM t GROUP BY a, b GROUPING SETS ((a, b), a);
SELECT a, b, sum(c) AS n FROM t GROUP BY a, ROLLUP (b, s), CUBE (d), GROUPING SETS ((a), ());
SELECT a, sum(c) AS n FROM t GROUP BY ALL;
SELECT a + 1 AS z, z * 2 AS y FROM t;
SELECT sum(c) AS n FROM t HAVING count(*) > 1;
SELECT * EXCEPT (a, b) FROM u;
SELECT u.* EXCEPT (a), 1 AS one FROM u;
SELECT t.*, u.a AS ua FROM t JOIN u ON t.id = u.id;
SELECT /*+ BROADCAST(u) */ t.a FROM t JOIN u ON t.id = u.id;
SELECT /*+ REPARTITION(3), COALESCE(1) */ a FROM t;
SELECT a FROM t UNION SELECT a FROM u;
SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a LIMIT 3;
(SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL (SELECT a FROM u);
SELECT a FROM t EXCEPT ALL SELECT a FROM u;
SELECT a FROM t MINUS SELECT a FROM u INTERSECT ALL SELECT b FROM u;
WITH v AS (SELECT a FROM t), w (z) AS (SELECT a FROM v) SELECT z FROM w;
WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r;
WITH v AS (WITH w AS (SELECT a FROM t) SELECT a FROM w) SELECT a FROM v WHERE a IN (WITH z AS (SELECT a FROM u) SELECT a FROM z);
SELECT a, b FROM (SELECT a, b FROM t) WHERE (a, b) NOT IN (SELECT a, b FROM u);
FROM t |> WHERE a > 1 |> AGGREGATE sum(b) AS n GROUP BY a |> ORDER BY n;
FROM u |> SELECT a, b |> EXTEND a + b AS z |> DROP a |> LIMIT 3;

SELECT a FROM t WHERE a > (SELECT avg(a) FROM u WHERE u.b = t.b);

-- names
SELECT `a`, t.`b` AS `strange name`, `unit price` FROM `t`;
SELECT a AS start, b AS `end`, c AS value, key AS type, id AS row, name AS date FROM t;
SELECT a AS window, b AS year, c AS month, id AS interval FROM t;
SELECT a first, b last, c `left` FROM t;
SELECT date, year FROM (SELECT d AS date, a AS year FROM t);
SELECT window FROM (SELECT a AS window FROM t) WHERE window > 1 GROUP BY window ORDER BY window;
SELECT window FROM (SELECT a AS window, b FROM t) GROUP BY b, window HAVING window > 1;
SELECT z.window AS w FROM (SELECT a AS window FROM t) z ORDER BY z.window;
SELECT offset, timestamp FROM (SELECT a AS offset, ts AS timestamp FROM t) WHERE offset > 1;
SELECT default, limit, format, partition FROM (SELECT a AS default, a AS limit, a AS format, a AS partition FROM t);
SELECT user, current, rank, first, version, comment, describe FROM (SELECT 1 AS user, 1 AS current, 1 AS rank, 1 AS first, 1 AS version, 1 AS comment, 1 AS describe);
SELECT percent, rows, range, array, map, struct, set, show, values FROM (SELECT 1 AS percent, 1 AS rows, 1 AS range, 1 AS array, 1 AS map, 1 AS struct, 1 AS set, 1 AS show, 1 AS values);
