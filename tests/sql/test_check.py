"""What a query reads and gives, and where it is wrong. `¦` stands before each place where a mistake is expected."""

import time

import pytest

from reconciler.base.diagnostics import Location
from reconciler.sql.arity import wrong_calls
from reconciler.sql.check import QueryAnalysis, ViewShape, analyse_query
from reconciler.sql.lexer import query_tokens
from reconciler.sql.surroundings import QuerySurroundings
from tests.pace import at_usual_pace
from tests.sql.reading import found, without_marks

RELATIONS = {
    "t": {
        "id": "INT",
        "Name": "STRING",
        "d": "DATE",
        "flag": "BOOLEAN",
        "price": "DECIMAL(5,2)",
        "s": "STRUCT<a:INT>",
        "list": "ARRAY<INT>",
        "m": "MAP<STRING,INT>",
    },
    "u": {"id": "INT", "k": "STRING", "ts": "TIMESTAMP"},
    "orders": {"order_id": "BIGINT", "total": "DECIMAL(15,2)"},
    "mystery": {},
}
ALL_OF_T = ("d", "flag", "id", "list", "m", "Name", "price", "s")


def analyse(query: str, stored: bool = False, names: tuple[str, ...] = (), ansi: bool = True) -> QueryAnalysis:
    return analyse_query(query, Location("p.sql", 1, 1), RELATIONS, ViewShape(stored, names), QuerySurroundings(ansi=ansi))


READS = {
    "SELECT id FROM t": {"t": ("id",)},
    "SELECT NAME FROM T": {"t": ("Name",)},
    "SELECT * FROM t": {"t": ALL_OF_T},
    "SELECT t.* FROM t JOIN u ON t.id = u.id": {"t": ALL_OF_T, "u": ("id",)},
    "SELECT count(*) FROM t": {"t": ()},
    "SELECT 1 AS one": {},
    "SELECT id FROM t WHERE d > DATE '2020-01-01'": {"t": ("d", "id")},
    "SELECT t.id FROM t JOIN u USING (id) WHERE k = 'x'": {"t": ("id",), "u": ("id", "k")},
    "SELECT name FROM t GROUP BY name HAVING max(price) > 1 ORDER BY min(d)": {"t": ("d", "Name", "price")},
    "WITH c AS (SELECT id, price AS p FROM t) SELECT sum(p) FROM c": {"t": ("id", "price")},
    "WITH t AS (SELECT id FROM u) SELECT id FROM t": {"u": ("id",)},
    "WITH t AS (SELECT id FROM t) SELECT id FROM t": {"t": ("id",)},
    "SELECT x.id FROM (SELECT id, k FROM u) x": {"u": ("id", "k")},
    "SELECT id FROM t a WHERE EXISTS (SELECT 1 FROM u WHERE u.id = a.id AND k = name)": {
        "t": ("id", "Name"),
        "u": ("id", "k"),
    },
    "SELECT (SELECT max(total) FROM orders WHERE order_id = t.id) AS m FROM t": {
        "t": ("id",),
        "orders": ("order_id", "total"),
    },
    "SELECT id FROM t WHERE id IN (SELECT order_id FROM orders)": {"t": ("id",), "orders": ("order_id",)},
    "SELECT transform(list, x -> x + id) FROM t": {"t": ("id", "list")},
    "SELECT s.a, t.s.a FROM t": {"t": ("s",)},
    "SELECT item FROM t LATERAL VIEW explode(list) e AS item": {"t": ("list",)},
    "SELECT w.k FROM t, LATERAL (SELECT u.k FROM u WHERE u.id = t.id) w": {"t": ("id",), "u": ("id", "k")},
    "SELECT id FROM t UNION ALL SELECT order_id FROM orders": {"t": ("id",), "orders": ("order_id",)},
    "SELECT sum(price) OVER (PARTITION BY name ORDER BY d) FROM t": {"t": ("d", "Name", "price")},
    "SELECT l.id FROM t l LEFT SEMI JOIN u r ON l.id = r.id": {"t": ("id",), "u": ("id",)},
    "SELECT q FROM mystery": {"mystery": ("*",)},
    "SELECT mystery.q FROM mystery": {"mystery": ("q",)},
    "SELECT * FROM mystery": {"mystery": ("*",)},
    "SELECT id FROM t |> WHERE id > 1": {"t": ("*",)},
    "SELECT sum(price) FILTER (WHERE flag) FROM t": {"t": ("flag", "price")},
    "FROM t SELECT id": {"t": ("id",)},
    "SELECT a FROM t AS x (a, b, c, e, f, g, h, i)": {"t": ALL_OF_T},
    "SELECT t.* EXCEPT (id) FROM t": {"t": ALL_OF_T},
    # What the parser drops of the text.
    "SELECT date_trunc(name, d) AS x, trunc(d, NAME) AS y FROM t": {"t": ("d", "Name")},
    "SELECT named_struct(*) AS s FROM u": {"u": ("*",)},
    "SELECT ts + INTERVAL id DAY AS x FROM u": {"u": ("id", "ts")},
    "SELECT ts + INTERVAL (SELECT max(order_id) FROM orders) DAY AS x FROM u": {"u": ("ts",), "orders": ("order_id",)},
}


@pytest.mark.parametrize("query", READS)
def test_reads(query: str) -> None:
    analysis = analyse(query)
    assert found(analysis.diagnostics) == []
    assert {read.relation: read.columns for read in analysis.reads} == READS[query]
    assert [read.relation for read in analysis.reads] == sorted(READS[query])


COLUMNS = {
    "SELECT id, Name AS n FROM t": (("id", "INT"), ("n", "STRING")),
    "SELECT * FROM u": (("id", "INT"), ("k", "STRING"), ("ts", "TIMESTAMP")),
    "SELECT * FROM u JOIN orders ON id = order_id": (
        ("id", "INT"),
        ("k", "STRING"),
        ("ts", "TIMESTAMP"),
        ("order_id", "BIGINT"),
        ("total", "DECIMAL(15,2)"),
    ),
    "SELECT * EXCEPT (k) FROM u": (("id", "INT"), ("ts", "TIMESTAMP")),
    "SELECT count(*) AS n, sum(price) AS p, max(d) AS d FROM t": (("n", "BIGINT"), ("p", None), ("d", "DATE")),
    "SELECT CAST(id AS STRING) AS id FROM t": (("id", "STRING"),),
    "SELECT * FROM mystery": (),
    "SELECT count(*) FROM t": (),
    "SELECT id FROM t UNION SELECT order_id FROM orders": (("id", None),),
    "SELECT u.*, 1 AS one FROM u": (("id", "INT"), ("k", "STRING"), ("ts", "TIMESTAMP"), ("one", "INT")),
    "SELECT s.a FROM t": (("a", None),),
    "SELECT explode(list) FROM t": (),
}


@pytest.mark.parametrize("query", COLUMNS)
def test_columns(query: str) -> None:
    assert analyse(query).columns == COLUMNS[query]


def test_columns_of_a_join_with_using_stand_first_and_once() -> None:
    names = [name for name, _ in analyse("SELECT * FROM u JOIN t USING (id)").columns]
    assert names == ["id", "k", "ts", "Name", "d", "flag", "price", "s", "list", "m"]


def test_a_views_own_names() -> None:
    assert analyse("SELECT count(*), max(d) FROM t", names=("n", "last")).columns == (("n", "BIGINT"), ("last", "DATE"))


GOOD = (
    "SELECT name AS n, count(*) AS c FROM t GROUP BY n",
    "SELECT name AS n, count(*) AS c FROM t GROUP BY 1",
    "SELECT upper(name), sum(price) FROM t GROUP BY upper(name)",
    "SELECT upper(NAME), sum(price) FROM t GROUP BY Upper(t.name)",
    "SELECT year(d), count(*) FROM t GROUP BY year(d)",
    "SELECT name, count(*) FROM t GROUP BY ALL",
    "SELECT name, grouping(name), count(*) FROM t GROUP BY ROLLUP (name)",
    "SELECT name, count(*) FROM t GROUP BY GROUPING SETS ((name), ())",
    "SELECT name, first(d), any_value(id), max_by(id, d), collect_list(s) FROM t GROUP BY name",
    "SELECT name, sum(sum(price)) OVER (ORDER BY name) FROM t GROUP BY name",
    "SELECT concat(name, '!') AS x FROM t GROUP BY name",
    "SELECT id, row_number() OVER (PARTITION BY name ORDER BY d) AS n FROM t",
    "SELECT id AS x, x + 1 AS y FROM t",
    "SELECT id FROM t ORDER BY price",
    "SELECT t.id FROM t JOIN u ON t.id = u.id ORDER BY id",
    "SELECT id FROM t JOIN u USING (id)",
    "SELECT id FROM t NATURAL JOIN u",
    "SELECT d + 1, d - d, d + INTERVAL 1 DAY, ts - ts FROM t, u",
    "SELECT id FROM t WHERE d > '2020-01-01' AND d < current_date AND d <> current_date()",
    "SELECT id FROM u WHERE ts > DATE '2020-01-01' OR ts = '2020'",
    "SELECT id FROM t WHERE name = 1 AND price > '3'",
    "SELECT timestampadd(MONTH, 1, ts), datediff(DAY, ts, ts), extract(YEAR FROM ts), dateadd(day, 1, ts) FROM u",
    "SELECT trim(BOTH 'x' FROM k), substring(k FROM 2 FOR 3), position('a' IN k), overlay(k PLACING 'a' FROM 1) FROM u",
    "SELECT CASE WHEN flag THEN id ELSE 0 END AS x, if(flag, 1, 2) FROM t",
    "SELECT m['a'], m.a, list[0], s.a, element_at(m, 'a') FROM t",
    "SELECT aggregate(list, 0, (acc, x) -> acc + x) FROM t",
    "SELECT named_struct('a', id).a, struct(id, name).Name FROM t",
    "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v (x, y) WHERE v.x > 1",
    "SELECT id FROM range(10)",
    "SELECT r.id FROM range(10) AS r",
    "SELECT count(DISTINCT id, name) FROM t",
    "SELECT max(struct(d, id)).id FROM t",
    "SELECT name FROM t GROUP BY name HAVING count(*) > 1 AND name IS NOT NULL",
    "SELECT * FROM t PIVOT (sum(price) FOR name IN ('a', 'b'))",
    "SELECT a.id FROM t a JOIN t b ON a.id = b.id JOIN u ON u.id = b.id",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM t",
    "SELECT listagg(name, ',') WITHIN GROUP (ORDER BY name) FROM t",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
    "WITH a AS (SELECT id FROM t), b AS (SELECT id FROM a) SELECT a.id FROM a JOIN b ON a.id = b.id",
    "SELECT id, count(*) AS id_count FROM t WHERE NOT flag GROUP BY id",
    "SELECT (SELECT count(*) FROM u WHERE u.id = t.id) FROM t",
    "SELECT id FROM t WHERE (id, name) IN (SELECT id, k FROM u)",
    "SELECT id FROM t TABLESAMPLE (10 PERCENT)",
    "SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY name ORDER BY d) = 1",
    "SELECT stack(2, 1, 2) AS (a, b)",
    "SELECT a:b.c FROM mystery",
    "TABLE t",
    "SELECT a.* FROM (SELECT id FROM t) a",
    "SELECT id FROM (t JOIN orders ON t.id = orders.order_id)",
    "SELECT /*+ BROADCAST(u) */ t.id FROM t JOIN u ON t.id = u.id",
    "SELECT sum(id) OVER w FROM t WINDOW w AS (PARTITION BY name ORDER BY d)",
    "SELECT current_user, current_catalog, localtimestamp",
    "SELECT now(), uuid(), rand(), monotonically_increasing_id()",
    "SELECT id FROM t WHERE d BETWEEN DATE '2020-01-01' AND DATE '2020-12-31'",
    "SELECT nullif(id, 0), nvl(name, ''), coalesce(id, 1, 2), round(price), round(price, 1) FROM t",
    "SELECT bool_and(flag), count_if(flag), sum(CAST(flag AS INT)) FROM t",
    "SELECT 1 FROM t GROUP BY name ORDER BY count(*)",
    "SELECT inline(array(struct(1, 'a')))",
    "SELECT id, name FROM t EXCEPT SELECT id, k FROM u INTERSECT SELECT id, k FROM u",
    "VALUES (1, 2), (3, 4)",
    "SELECT DISTINCT name FROM t ORDER BY 1 LIMIT 3 OFFSET 1",
)


@pytest.mark.parametrize("query", GOOD)
def test_nothing_is_said_of_good_queries(query: str) -> None:
    assert [one.message for one in analyse(query).diagnostics] == []


BAD = {
    "an unknown relation": ("S220", "SELECT id FROM ¦ordres"),
    "an unknown relation in a join": ("S220", "SELECT t.id\nFROM t\nJOIN ¦v ON t.id = v.id"),
    "a relation of another namespace": ("S220", "SELECT id FROM ¦other.t"),
    "a CTE out of sight": ("S220", "SELECT id FROM (WITH c AS (SELECT id FROM t) SELECT id FROM c) x, ¦c"),
    "an unknown column": ("S221", "SELECT id,\n  ¦nme\nFROM t"),
    "an unknown qualified column": ("S221", "SELECT x.¦nme FROM t x"),
    "an unknown qualifier": ("S221", "SELECT ¦y.id FROM t x"),
    "a relation behind its alias": ("S221", "SELECT ¦t.id FROM t x"),
    "an unknown column in WHERE": ("S221", "SELECT id FROM t WHERE ¦nme = 1"),
    "an unknown column in ON": ("S221", "SELECT t.id FROM t JOIN u ON t.id = u.¦idd"),
    "an unknown column in USING": ("S221", "SELECT t.id FROM t JOIN u USING (¦name)"),
    "an unknown column of a CTE": ("S221", "WITH c AS (SELECT id FROM t) SELECT ¦name FROM c"),
    "an unknown column in a subquery": ("S221", "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE ¦kk = name)"),
    "an unknown column in ORDER BY": ("S221", "SELECT id FROM t ORDER BY ¦nme"),
    "after what is spelled otherwise for the parser": (
        "S221",
        "SELECT id >>> 1 AS a, X '1F' AS b, i FROM t LATERAL VIEW explode(list) e i WHERE i !< ¦nme",
    ),
    "beside a window of time": ("S221", "SELECT window.start AS s, max(¦nme) AS m FROM u GROUP BY window(ts, '1 day')"),
    "in a window of time": ("S221", "SELECT window.start AS s FROM u GROUP BY window(¦nme, '1 day')"),
    "a window of time that is not called": ("S221", "SELECT ¦window.start AS s FROM u GROUP BY ts"),
    "a window of time of a subquery": (
        "S221",
        "SELECT ¦window.start AS s, (SELECT max(1) FROM u GROUP BY window(ts, '1 day')) FROM t",
    ),
    "a union of a number and a date": ("S229", "SELECT name, id FROM t UNION ALL SELECT k, ¦ts FROM u"),
    "a union of stars": ("S229", "SELECT id FROM t UNION ALL SELECT ¦* FROM (SELECT ts FROM u)"),
    "results of a CASE": ("S229", "SELECT CASE WHEN flag THEN id ELSE ¦d END AS x FROM t"),
    "a CASE of a value": ("S229", "SELECT CASE id WHEN 1 THEN 'a' WHEN ¦d THEN 'b' END AS x FROM t"),
    "arguments of coalesce": ("S229", "SELECT coalesce(id, NULL, ¦list) AS x FROM t"),
    "a date among numbers": ("S229", "SELECT id FROM t WHERE ¦id IN (1, d)"),
    "an unknown column in a lambda": ("S221", "SELECT transform(list, x -> ¦y + 1) FROM t"),
    "an unknown column of a semi join": ("S221", "SELECT l.id FROM t l LEFT SEMI JOIN u r ON l.id = r.id WHERE ¦r.k = 'a'"),
    "an unknown column in EXCEPT": ("S221", "SELECT * EXCEPT (¦nme) FROM t"),
    "an unknown backquoted column": ("S221", "SELECT ¦`nme` FROM t"),
    "after letters outside ASCII": ("S221", "SELECT 'äöü€😀' AS x, ¦nme FROM t"),
    "an ambiguous column": ("S222", "SELECT ¦id FROM t JOIN u ON t.id = u.id"),
    "an ambiguous column in WHERE": ("S222", "SELECT t.id FROM t JOIN u ON t.id = u.id WHERE ¦id = 1"),
    "different numbers of columns": ("S226", "SELECT id FROM t UNION ALL SELECT ¦id, k FROM u"),
    "an aggregate in WHERE": ("S227", "SELECT id FROM t WHERE ¦sum(price) > 3"),
    "neither grouped nor aggregated": ("S228", "SELECT name, ¦d, count(*) FROM t GROUP BY name"),
    "an aggregate without GROUP BY": ("S228", "SELECT ¦name, sum(price) FROM t"),
    "not grouped inside an expression": ("S228", "SELECT upper(¦name), sum(price) FROM t GROUP BY id"),
    "not grouped, qualified": ("S228", "SELECT ¦x.name, sum(x.price) FROM t x GROUP BY x.id"),
    "WHERE of a number": ("S229", "SELECT id FROM t WHERE ¦price"),
    "WHERE of a text": ("S229", "SELECT id FROM t WHERE ¦name"),
    "ON of a number": ("S229", "SELECT t.id FROM t JOIN u ON ¦t.id"),
    "HAVING of a number": ("S229", "SELECT name FROM t GROUP BY name HAVING ¦count(*)"),
    "AND of a number": ("S229", "SELECT id FROM t WHERE flag AND ¦id"),
    "NOT of a date": ("S229", "SELECT id FROM t WHERE NOT ¦d"),
    "a date times a number": ("S229", "SELECT ¦d * 2 FROM t"),
    "a boolean plus a number": ("S229", "SELECT ¦flag + 1 FROM t"),
    "a date plus a date": ("S229", "SELECT ¦d + d FROM t"),
    "a date against a number": ("S229", "SELECT id FROM t WHERE ¦d > 20200101"),
    "a boolean against a number": ("S229", "SELECT id FROM t WHERE ¦flag = 1"),
    "a timestamp against a boolean": ("S229", "SELECT id FROM u WHERE ¦ts = TRUE"),
    "SUM of a date": ("S229", "SELECT ¦sum(d) FROM t"),
    "AVG of a boolean": ("S229", "SELECT ¦avg(flag) FROM t"),
    "too many arguments": ("S230", "SELECT ¦round(price, 1, 2) FROM t"),
    "too few arguments": ("S230", "SELECT ¦nullif(id) FROM t"),
    "no argument": ("S230", "SELECT ¦upper() FROM t"),
    "an argument where none is taken": ("S230", "SELECT ¦row_number(id) OVER (ORDER BY id) FROM t"),
    "an unknown function": ("S231", "SELECT ¦my_function(id) FROM t"),
    "a misspelt function": ("S231", "SELECT ¦coalesc(id, 1) FROM t"),
    "a query that stops": ("S214", "SELECT id FROM t WHERE ¦(id = 1 OR (id = 2)"),
    "a parenthesis too many": ("S214", "SELECT id FROM t WHERE (id = 1)¦) AND d IS NULL"),
    "a comma before FROM": ("S214", "SELECT id¦, FROM t"),
    "a word too many": ("S214", "SELECT id name ¦price FROM t"),
    "two statements": ("S213", "SELECT id FROM t¦; SELECT id FROM u"),
    "an INSERT": ("S213", "¦INSERT INTO t SELECT 1"),
    "a parameter": ("S215", "SELECT id FROM t WHERE id = ¦:id"),
    "a positional parameter": ("S215", "SELECT id FROM t WHERE id = ¦?"),
}


@pytest.mark.parametrize("claim", BAD)
def test_mistakes_are_placed(claim: str) -> None:
    code, marked = BAD[claim]
    query, (place,) = without_marks(marked)
    assert found(analyse(query).diagnostics) == [(code, place)]


def test_places_count_from_where_the_query_stands() -> None:
    analysis = analyse_query("SELECT nme,\n  x FROM t", Location("p.sql", 7, 20), RELATIONS)
    assert found(analysis.diagnostics) == [("S221", (7, 27)), ("S221", (8, 3))]


def test_without_a_place_diagnostics_have_none() -> None:
    assert found(analyse_query("SELECT nme FROM t", None, RELATIONS).diagnostics) == [("S221", None)]


STORED = {
    "two columns of one name": ("S223", "SELECT id, name, ¦id FROM t"),
    "two columns of one name in another case": ("S223", "SELECT id, ¦name AS ID FROM t"),
    "two columns of one name by a star": ("S223", "SELECT id, ¦* FROM orders JOIN u ON order_id = id"),
    "a function without a name": ("S224", "SELECT ¦count(*) FROM t"),
    "a sum without a name": ("S224", "SELECT id, ¦price + 1 FROM t"),
    "a name with a blank": ("S224", "SELECT ¦id AS `the id` FROM t"),
}


@pytest.mark.parametrize("claim", STORED)
def test_stored_views_name_their_columns(claim: str) -> None:
    code, marked = STORED[claim]
    query, (place,) = without_marks(marked)
    assert found(analyse(query, stored=True).diagnostics) == [(code, place)]
    assert found(analyse(query).diagnostics) == []


def test_a_views_own_names_make_names_in_the_query_needless() -> None:
    assert analyse("SELECT id, id, count(*) FROM t GROUP BY id", stored=True, names=("a", "b", "c")).diagnostics == ()


def test_a_views_own_names_fit_its_query() -> None:
    assert found(analyse("SELECT id, name FROM t", names=("a",)).diagnostics) == [("S225", (1, 1))]


def test_types_are_judged_in_ansi_mode_only() -> None:
    assert found(analyse("SELECT id FROM t WHERE flag = 1", ansi=False).diagnostics) == []


@pytest.mark.parametrize("query", [*GOOD, *READS, *(marked for _, marked in BAD.values())])
def test_every_prefix_of_a_query_is_analysed_without_raising(query: str) -> None:
    text, _ = without_marks(query)
    for end in range(0, len(text), 5):
        analyse(text[:end], stored=True)


def test_deep_nesting_does_not_raise() -> None:
    analyse("SELECT " + "(" * 3000 + "1" + ")" * 3000)
    analyse("SELECT " + " + ".join(["id"] * 3000) + " FROM t")


def test_calls_within_calls_are_counted_in_time_proportional_to_the_text() -> None:
    depth = 9_000
    tokens = query_tokens(f"SELECT {', sum(' * depth}a{')' * depth} FROM t")
    start = time.process_time()
    found = wrong_calls(tokens)
    assert at_usual_pace(time.process_time() - start) < 10
    assert len(found) == depth - 1
    assert found[0].message == "sum takes 1 argument, found 2"
