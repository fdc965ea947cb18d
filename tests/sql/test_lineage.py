"""Which columns reach each output and decide the rows, and what is surely the same when computed again."""

import pytest

from reconciler.sql.check import ViewShape, analyse_query
from reconciler.sql.lineage import Lineage
from reconciler.sql.surroundings import QuerySurroundings

RELATIONS = {
    "t": {
        "id": "INT",
        "Name": "STRING",
        "d": "DATE",
        "flag": "BOOLEAN",
        "price": "DECIMAL(5,2)",
        "score": "DOUBLE",
        "s": "STRUCT<a:INT>",
        "things": "ARRAY<INT>",
    },
    "u": {"id": "INT", "k": "STRING", "ts": "TIMESTAMP", "date": "DATE"},
    "mystery": {},
}


def lineage(query: str, names: tuple[str, ...] = ()) -> Lineage | None:
    analysis = analyse_query(query, None, RELATIONS, ViewShape(column_names=names))
    assert [one.message for one in analysis.diagnostics] == []
    return analysis.lineage


def traced(query: str, *functions: str) -> Lineage:
    """The lineage of a query of one output, x, in a pipeline that declares functions."""
    around = QuerySurroundings(functions=dict.fromkeys(functions, 1))
    found = analyse_query(query, None, RELATIONS, ViewShape(column_names=("x",)), around).lineage
    assert found is not None
    return found


def short(pairs: tuple[tuple[str, str], ...]) -> str:
    return " ".join(".".join(pair) for pair in pairs)


# query → (sources of each output by its name, rows)
LINEAGE: dict[str, tuple[dict[str, str], str]] = {
    "SELECT id, NAME AS n FROM T": ({"id": "t.id", "n": "t.name"}, ""),
    "SELECT * FROM u": ({"id": "u.id", "k": "u.k", "ts": "u.ts", "date": "u.date"}, ""),
    "SELECT u.* EXCEPT (k, date) FROM u": ({"id": "u.id", "ts": "u.ts"}, ""),
    "SELECT 1 AS one": ({"one": ""}, ""),
    "SELECT id FROM t WHERE d > DATE '2020-01-01'": ({"id": "t.id"}, "t.d"),
    "SELECT id + price AS x FROM t ORDER BY d": ({"x": "t.id t.price"}, ""),
    # Joins
    "SELECT t.id, k FROM t JOIN u ON t.id = u.id": ({"id": "t.id", "k": "u.k"}, "t.id u.id"),
    "SELECT t.id, k FROM t LEFT JOIN u ON t.id = u.id AND flag": ({"id": "t.id", "k": "u.k"}, "t.flag t.id u.id"),
    "SELECT id, k FROM t FULL JOIN u USING (id)": ({"id": "t.id u.id", "k": "u.k"}, "t.id u.id"),
    "SELECT id, k FROM t NATURAL JOIN u": ({"id": "t.id u.id", "k": "u.k"}, "t.id u.id"),
    "SELECT * FROM (SELECT price, id FROM t) x JOIN (SELECT k, id FROM u) y USING (id)": (
        {"id": "t.id u.id", "price": "t.price", "k": "u.k"},
        "t.id u.id",
    ),
    "SELECT l.price FROM t l LEFT ANTI JOIN u r ON l.id = r.id": ({"price": "t.price"}, "t.id u.id"),
    "SELECT price, k FROM t, u WHERE t.id = u.id": ({"price": "t.price", "k": "u.k"}, "t.id u.id"),
    "SELECT price, k FROM t CROSS JOIN u": ({"price": "t.price", "k": "u.k"}, ""),
    "SELECT price FROM (t JOIN u ON t.id = u.id)": ({"price": "t.price"}, "t.id u.id"),
    # Grouping
    "SELECT count(*) AS n, sum(price) AS p FROM t": ({"n": "", "p": "t.price"}, ""),
    # Only the bare one counts rows; beside anything it stands for columns, of which none may be NULL.
    "SELECT count(/* rows */ *) AS n, count(ALL *) AS m FROM u": ({"n": "", "m": ""}, ""),
    "SELECT count(* EXCEPT (id, k)) AS n FROM u": ({"n": "u.date u.ts"}, ""),
    "SELECT count(*, 1) AS n FROM u": ({"n": "u.date u.id u.k u.ts"}, ""),
    "SELECT count(*, k) AS n, `count`(k, *) AS m FROM u": (
        {"n": "u.date u.id u.k u.ts", "m": "u.date u.id u.k u.ts"},
        "",
    ),
    "SELECT count(* EXCEPT (date, ts)) OVER (PARTITION BY ts) AS n FROM u": ({"n": "u.id u.k u.ts"}, ""),
    "SELECT count(* EXCEPT (date, ts), 1) FILTER (WHERE ts > date) AS n FROM u": ({"n": "u.date u.id u.k u.ts"}, ""),
    "SELECT n FROM (SELECT id, count(* EXCEPT (date)) AS n FROM u GROUP BY id) WHERE n > 0": (
        {"n": "u.id u.k u.ts"},
        "u.id u.k u.ts",
    ),
    "SELECT greatest(*) AS g, 1 IN (* EXCEPT (k)) AS i FROM u": (
        {"g": "u.date u.id u.k u.ts", "i": "u.date u.id u.ts"},
        "",
    ),
    "SELECT name AS n, max(d) AS d FROM t GROUP BY n": ({"n": "t.name", "d": "t.d"}, "t.name"),
    "SELECT name AS n, max(d) AS d FROM t GROUP BY 1": ({"n": "t.name", "d": "t.d"}, "t.name"),
    "SELECT name AS n, max(d) AS d FROM t GROUP BY ALL": ({"n": "t.name", "d": "t.d"}, "t.name"),
    "SELECT max(d) AS d FROM t GROUP BY ROLLUP (name, id)": ({"d": "t.d"}, "t.id t.name"),
    "SELECT max(d) AS d FROM t GROUP BY GROUPING SETS ((name), (id, 1))": ({"d": "t.d"}, "t.d t.id t.name"),
    "SELECT name AS n, max(d) AS d FROM t GROUP BY name HAVING min(price) > 1": (
        {"n": "t.name", "d": "t.d"},
        "t.name t.price",
    ),
    "SELECT name AS n, max(d) AS m FROM t GROUP BY name HAVING m > '2020'": ({"n": "t.name", "m": "t.d"}, "t.d t.name"),
    "SELECT sum(price) FILTER (WHERE flag) AS p FROM t": ({"p": "t.flag t.price"}, ""),
    "SELECT DISTINCT id, name FROM t": ({"id": "t.id", "name": "t.name"}, "t.id t.name"),
    # A name that the select list takes over
    "SELECT id + 1 AS name, count(*) AS n FROM t GROUP BY name, id": ({"name": "t.id", "n": ""}, "t.id t.name"),
    # Windows reach values, and rows only by QUALIFY
    "SELECT id, rank() OVER (PARTITION BY name ORDER BY d) AS r FROM t": ({"id": "t.id", "r": "t.d t.name"}, ""),
    "SELECT sum(price) OVER w AS p FROM t WINDOW w AS (PARTITION BY name ORDER BY d)": ({"p": "t.d t.name t.price"}, ""),
    "SELECT id FROM t QUALIFY rank() OVER (ORDER BY d) = 1": ({"id": "t.id"}, "t.d"),
    # Queries in queries
    "WITH c AS (SELECT id, price AS p FROM t WHERE flag) SELECT sum(p) AS s FROM c": ({"s": "t.price"}, "t.flag"),
    "WITH c (x) AS (SELECT id FROM t) SELECT x FROM c": ({"x": "t.id"}, ""),
    "WITH t AS (SELECT id FROM t) SELECT id FROM t": ({"id": "t.id"}, ""),
    "WITH c AS (SELECT id FROM t WHERE flag) SELECT k FROM u": ({"k": "u.k"}, ""),
    "SELECT y FROM (SELECT id, price FROM t) AS x (z, y)": ({"y": "t.price"}, ""),
    "SELECT id, (SELECT max(ts) FROM u WHERE u.id = t.id AND k = 'x') AS m FROM t": (
        {"id": "t.id", "m": "t.id u.id u.k u.ts"},
        "",
    ),
    "SELECT EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AS e FROM t": ({"e": "t.id u.id"}, ""),
    "SELECT price FROM t WHERE EXISTS (SELECT * FROM u WHERE u.id = t.id)": ({"price": "t.price"}, "t.id u.id"),
    "SELECT price FROM t WHERE name IN (SELECT k FROM u WHERE ts IS NULL)": ({"price": "t.price"}, "t.name u.k u.ts"),
    "SELECT w.k FROM t, LATERAL (SELECT u.k FROM u WHERE u.id = t.id) w": ({"k": "u.k"}, "t.id u.id"),
    # An inner order may decide what an outer query picks
    "SELECT id FROM (SELECT id FROM t ORDER BY d) x": ({"id": "t.id"}, "t.d"),
    # Set operations
    "SELECT d, name FROM t UNION ALL SELECT date, k FROM u": ({"d": "t.d u.date", "name": "t.name u.k"}, ""),
    "SELECT name FROM t UNION SELECT k FROM u": ({"name": "t.name u.k"}, "t.name u.k"),
    "SELECT name FROM t EXCEPT ALL SELECT k FROM u WHERE ts IS NULL": ({"name": "t.name u.k"}, "t.name u.k u.ts"),
    # Windows of time: a column that is made of the call's arguments, which decide the rows
    "SELECT window.start AS s, sum(id) AS n FROM u GROUP BY window(ts, '5 minutes')": ({"s": "u.ts", "n": "u.id"}, "u.ts"),
    "SELECT k, window FROM u GROUP BY k, window(ts, '1 day', '1 hour')": ({"k": "u.k", "window": "u.ts"}, "u.k u.ts"),
    "SELECT count(*) AS n FROM u GROUP BY session_window(ts, k) HAVING session_window.start > date": (
        {"n": ""},
        "u.date u.k u.ts",
    ),
    "SELECT w.window.end FROM (SELECT window(ts, '1 day'), k FROM u) w": ({"end": "u.ts"}, "u.ts"),
    "SELECT max(n) AS m FROM (SELECT window, count(*) AS n FROM u GROUP BY window(ts, '1 day')) GROUP BY window": (
        {"m": ""},
        "u.ts",
    ),
    # What is spelled otherwise for the parser
    "SELECT thing FROM t LATERAL VIEW explode(things) e thing": ({"thing": "t.things"}, "t.things"),
    "SELECT id >>> 1 AS x, X '1F' AS y FROM t WHERE price !< 1": ({"x": "t.id", "y": ""}, "t.price"),
    "SELECT limit FROM (SELECT id AS limit, k FROM u WHERE date !> ts) ORDER BY k": ({"limit": "u.id"}, "u.date u.ts"),
    # Generators
    "SELECT id, item FROM t LATERAL VIEW explode(things) e AS item": ({"id": "t.id", "item": "t.things"}, "t.things"),
    "SELECT id, explode(things) AS item FROM t": ({"id": "t.id", "item": "t.things"}, "t.things"),
    # LIMIT, with its order
    "SELECT id FROM t ORDER BY d, 1 LIMIT 3": ({"id": "t.id"}, "t.d t.id"),
    "(SELECT id FROM t ORDER BY d) LIMIT 3": ({"id": "t.id"}, "t.d"),
    "((SELECT id FROM t ORDER BY d)) OFFSET 3": ({"id": "t.id"}, "t.d"),
    "(SELECT id FROM t ORDER BY d)": ({"id": "t.id"}, ""),
    "SELECT id, name FROM t ORDER BY ALL LIMIT 3": ({"id": "t.id", "name": "t.name"}, "t.id t.name"),
    # Lateral column aliases; a column of FROM goes first
    "SELECT price AS p, p + id AS q FROM t": ({"p": "t.price", "q": "t.id t.price"}, ""),
    "SELECT price AS id, id + 1 AS q FROM t": ({"id": "t.price", "q": "t.id"}, ""),
    # Parts of values, lambdas, words
    "SELECT s.a, t.s.a AS b, things[0] AS c FROM t": ({"a": "t.s", "b": "t.s", "c": "t.things"}, ""),
    "SELECT transform(things, x -> x + id) AS l FROM t": ({"l": "t.id t.things"}, ""),
    "SELECT CASE WHEN flag THEN id ELSE price END AS x FROM t": ({"x": "t.flag t.id t.price"}, ""),
    "SELECT hash(*) AS h FROM (SELECT id, d FROM t) x": ({"h": "t.d t.id"}, ""),
    "SELECT date + INTERVAL 1 DAY AS x, CAST(k AS date) AS y FROM u WHERE date > DATE '2020-01-01'": (
        {"x": "u.date", "y": "u.k"},
        "u.date",
    ),
    "SELECT /*+ BROADCAST(u) */ t.price FROM t JOIN u ON t.id = u.id": ({"price": "t.price"}, "t.id u.id"),
    "SELECT x FROM VALUES (1), (2) AS v (x)": ({"x": ""}, ""),
    "SELECT id FROM range(10)": ({"id": ""}, ""),
}


@pytest.mark.parametrize("query", LINEAGE)
def test_lineage(query: str) -> None:
    found = lineage(query)
    assert found is not None
    outputs, rows = LINEAGE[query]
    assert {one.name: short(one.sources) for one in found.outputs} == outputs
    assert short(found.rows) == rows


UNKNOWN = (
    "SELECT q FROM mystery",
    "SELECT * FROM t PIVOT (count(id) FOR name IN ('a', 'b'))",
    # The parser drops the `*`.
    "SELECT named_struct(*) AS s FROM t",
    "SELECT id * 2 AS i, named_struct(*) AS s FROM (FROM t)",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
    "SELECT count(*) FROM t",
    "SELECT id FROM t |> WHERE id > 1",
    "SELECT posexplode(things) FROM t",
    "SELECT id, name FROM t UNION ALL BY NAME SELECT k AS name, id FROM u",
)


# Where Spark takes a word for a unit, it reads no column of that name; everywhere else it does.
OF_TIME = {
    "SELECT extract(year FROM ts) AS x FROM w": "ts",
    "SELECT EXTRACT(hour FROM ts) AS x FROM w": "ts",
    "SELECT date_part(year, ts) AS x FROM w": "ts year",
    "SELECT datepart(format, ts) AS x FROM w": "format ts",
    "SELECT date_trunc('year', ts) AS x FROM w": "ts",
    "SELECT date_trunc(format, ts) AS x FROM w": "format ts",
    "SELECT date_trunc(w.format, ts) AS x FROM w": "format ts",
    "SELECT date_trunc(`format`, ts) AS x FROM w": "format ts",
    "SELECT date_trunc(year, ts) AS x FROM w": "ts year",
    "SELECT date_trunc(upper(format), ts) AS x FROM w": "format ts",
    "SELECT date_trunc(CASE WHEN n > 1 THEN format ELSE year END, ts) AS x FROM w": "format n ts year",
    "SELECT date_trunc((SELECT max(format) FROM w), ts) AS x FROM w": "format ts",
    "SELECT trunc(ts, format) AS x FROM w": "format ts",
    "SELECT trunc(ts, w.year) AS x FROM w": "ts year",
    "SELECT trunc(ts, year) AS x FROM w": "ts year",
    "SELECT time_trunc(format, ts) AS x FROM w": "format ts",
    "SELECT next_day(ts, year) AS x FROM w": "ts year",
    "SELECT timestampadd(SECOND, n, ts) AS x FROM w": "n ts",
    "SELECT dateadd(hour, n) AS x FROM w": "hour n",
    "SELECT datediff(year, ts) AS x FROM w": "ts year",
    "SELECT date_add(ts, n) AS x FROM w": "n ts",
    "SELECT to_char(ts, format) AS x FROM w": "format ts",
    "SELECT to_char(n, year) AS x FROM w": "n year",
    "SELECT date_format(ts, hour) AS x FROM w": "hour ts",
    "SELECT to_timestamp(format, year) AS x FROM w": "format year",
    "SELECT from_utc_timestamp(ts, format) AS x FROM w": "format ts",
    "SELECT to_utc_timestamp(ts, format) AS x FROM w": "format ts",
    "SELECT ts AT TIME ZONE format AS x FROM w": "format ts",
    "SELECT convert_timezone(format, year, ts) AS x FROM w": "format ts year",
    "SELECT INTERVAL n SECOND AS x FROM w": "n",
    "SELECT ts - INTERVAL (n + 1) SECOND AS x FROM w": "n ts",
    "SELECT ts + INTERVAL hour HOUR AS x FROM w": "hour ts",
    "SELECT make_interval(n, hour) AS x FROM w": "hour n",
    "SELECT sequence(ts, ts, INTERVAL n SECOND) AS x FROM w": "n ts",
    "SELECT percentile(n, 0.5, hour) AS x FROM w": "hour n",
}


@pytest.mark.parametrize("query", OF_TIME)
def test_a_column_where_a_unit_could_stand_is_read(query: str) -> None:
    relations = {"w": {"ts": "TIMESTAMP", "format": "STRING", "n": "INT", "year": "STRING", "hour": "INT"}}
    analysis = analyse_query(query, None, relations)
    assert analysis.diagnostics == ()
    assert {one.relation: " ".join(one.columns) for one in analysis.reads} == {"w": OF_TIME[query]}
    if analysis.lineage is not None:
        named = {*analysis.lineage.outputs[0].sources, *analysis.lineage.rows}
        assert sorted(column for _, column in named) == OF_TIME[query].split()


@pytest.mark.parametrize("query", UNKNOWN)
def test_what_is_not_surely_known_has_no_lineage(query: str) -> None:
    assert lineage(query) is None


def test_a_keyword_that_names_a_column_has_no_lineage() -> None:
    # Spark takes the column. The parser takes the clock, and a list of one number, and loses it.
    relations = {"t": {"current_date": "DATE", "id": "INT", "list": "ARRAY<INT>"}}
    for query in ("SELECT id FROM t WHERE current_date > '2020'", "SELECT id, list[0] AS x FROM t"):
        assert analyse_query(query, None, relations).lineage is None
    assert analyse_query("SELECT id FROM t WHERE size(list) > 1", None, relations).lineage is not None


def test_outputs_have_the_names_of_the_view() -> None:
    found = lineage("SELECT id, count(*) FROM t GROUP BY id", names=("a", "b"))
    assert found is not None
    assert [(one.name, short(one.sources)) for one in found.outputs] == [("a", "t.id"), ("b", "")]


REPEATABLE = (
    "id + 1",
    "score * 2",
    "sum(price)",
    "sum(id) + count(DISTINCT name)",
    "sum(CAST(score AS DECIMAL(10,2)))",
    "sum(price * (1 - price))",
    "sum(CASE WHEN flag THEN price ELSE 0 END)",
    "sum(coalesce(price, 0))",
    "sum(price / 2)",
    "avg(price)",
    "year(d)",
    "datediff(d, date_add(d, id))",
    "max(score)",
    "bool_and(flag)",
    "rank() OVER (ORDER BY d)",
    "sum(price) OVER (PARTITION BY name ORDER BY d)",
    "sum(id) OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "sum(id) OVER (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "unix_timestamp(d)",
    "sum(price) FILTER (WHERE flag)",
    "DATE '2020-01-01'",
    "d < '2020-01-01'",
    "name = 'nowhere' OR name = 'today is one' OR name = 'from now'",
)
NOT_REPEATABLE = (
    "rand()",
    "rand(42)",
    "uuid()",
    "current_date",
    "CURRENT_TIMESTAMP()",
    "now()",
    "unix_timestamp()",
    "DATE 'today'",
    "d < 'today'",
    "d >= ' Now '",
    "date('tomorrow')",
    "year('today')",
    "to_timestamp('yesterday UTC')",
    "TIMESTAMP 'today+01:00'",
    "DATE 'tomorrow\tEurope/Berlin'",
    "TRY_CAST('now' AS TIMESTAMP)",
    "CASE WHEN flag THEN d ELSE 'today' END",
    "d BETWEEN '2020-01-01' AND 'Tomorrow'",
    "current_user()",
    "shuffle(things)",
    "monotonically_increasing_id()",
    "input_file_name()",
    "spark_partition_id()",
    "own(id)",
    "first(id)",
    "any_value(id)",
    "collect_list(id)",
    "collect_set(id)",
    "array_agg(id)",
    "listagg(name, ',')",
    "approx_count_distinct(id)",
    "max_by(id, d)",
    "mode(id)",
    "row_number() OVER (ORDER BY d)",
    "lag(id) OVER (ORDER BY d)",
    "first_value(id) OVER (ORDER BY d)",
    "sum(id) OVER (ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "sum(score)",
    "avg(id)",
    "avg(score)",
    "sum(id / 2)",
    "sum(price * 1e0)",
    "sum(price + score)",
    "sum(CASE WHEN flag THEN price ELSE score END)",
    "sum(score) OVER (PARTITION BY name)",
    "stddev(price)",
    "corr(price, price)",
    "(SELECT max(id) FROM (SELECT id FROM t LIMIT 3) x)",
)


def _repeats(expression: str) -> bool:
    found = traced(f"SELECT {expression} AS x FROM t", "own")
    assert found.rows_repeatable
    return found.outputs[0].repeatable


@pytest.mark.parametrize("expression", REPEATABLE)
def test_repeatable(expression: str) -> None:
    assert _repeats(expression)


@pytest.mark.parametrize("expression", NOT_REPEATABLE)
def test_not_repeatable(expression: str) -> None:
    assert not _repeats(expression)


@pytest.mark.parametrize("expression", ["upper(name)", "count(*)"])
def test_a_function_of_the_pipeline_is_not_repeatable_though_spark_has_its_name(expression: str) -> None:
    found = traced(f"SELECT {expression} AS x FROM t", "upper")
    assert found.outputs[0].repeatable is (expression == "count(*)")


ROWS_NOT_REPEATABLE = (
    "SELECT id FROM t LIMIT 3",
    "SELECT id FROM t ORDER BY id LIMIT 3",
    "SELECT id FROM t ORDER BY id OFFSET 1",
    "SELECT id FROM t TABLESAMPLE (10 PERCENT)",
    "SELECT id FROM t WHERE rand() < 0.5",
    "SELECT id FROM t WHERE d < current_date",
    "SELECT id FROM t WHERE d < 'today'",
    "SELECT id FROM (SELECT id, uuid() AS x FROM t) y WHERE x > 'a'",
    "SELECT max(id) AS x FROM t GROUP BY own(name)",
    "SELECT DISTINCT first(id) AS x FROM t GROUP BY name",
    "SELECT id FROM t QUALIFY row_number() OVER (ORDER BY d) = 1",
    "SELECT name FROM t GROUP BY name HAVING sum(score) > 1",
    "SELECT id FROM t WHERE id IN (SELECT id FROM u LIMIT 1)",
    "WITH c AS (SELECT id FROM t LIMIT 3) SELECT count(*) AS n FROM c",
    "SELECT uuid() AS x FROM t UNION SELECT k FROM u",
)


@pytest.mark.parametrize("query", ROWS_NOT_REPEATABLE)
def test_rows_that_are_not_repeatable_leave_no_output_repeatable(query: str) -> None:
    found = traced(query, "own")
    assert not found.rows_repeatable
    assert not any(one.repeatable for one in found.outputs)


def test_what_is_not_repeatable_stays_in_its_column() -> None:
    found = lineage("WITH c AS (SELECT id, uuid() AS x FROM t) SELECT id, x, id + 1 AS y FROM c WHERE id > 1")
    assert found is not None
    assert [one.repeatable for one in found.outputs] == [True, False, True]
    assert found.rows_repeatable
