"""Where settings let Spark read texts otherwise, or name columns otherwise, nothing is spared and nothing evened out that is
proven for how Spark reads by itself."""

import pytest

from reconciler.diff.compare import compare
from reconciler.sql.spelling import Spelling
from tests.diff.test_hidden_changes import changed, snapshot

STRICT = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.legacy.setopsPrecedence.enabled",
    "spark.sql.stableDerivedColumnAlias.enabled",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.parser.tomorrow",
)
TABLES = "CREATE TABLE t (id INT, a INT, b INT); CREATE TABLE u (id INT, b INT);"


def spec(name: str, value: str = "true") -> str:
    return f'spec: {{evolution: evolve, runtime: {{spark: {{{name}: "{value}"}}}}}}'


@pytest.mark.parametrize("setting", STRICT)
@pytest.mark.parametrize(
    "query",
    [
        'SELECT id, "b" AS x FROM w',
        'SELECT id FROM w WHERE "b" < 15',
        "SELECT id FROM (SELECT id, b FROM w UNION ALL SELECT id, b FROM u INTERSECT SELECT id, b FROM t)",
        "SELECT id FROM w",
    ],
)
def test_any_change_of_what_is_read_reaches_any_row(setting: str, query: str) -> None:
    views = f"CREATE MATERIALIZED VIEW w AS SELECT id, a, {{0}} AS b FROM t; CREATE MATERIALIZED VIEW v AS {query};"
    before, after = (snapshot(TABLES + views.format(one), spec(setting)) for one in ("b", "b + 9"))
    assert changed(compare(before, after)) == {"w", "v"}


@pytest.mark.parametrize("setting", STRICT)
@pytest.mark.parametrize(
    ("query", "other"),
    [
        ('SELECT n, v FROM t UNPIVOT (v FOR n IN (b "ab"))', 'SELECT n, v FROM t UNPIVOT (v FOR n IN (b "AB"))'),
        ('SELECT a AS x FROM t WHERE x "ab" > 0', 'SELECT a AS x FROM t WHERE x "AB" > 0'),
        (
            "SELECT to_json(struct(*)) AS j FROM (SELECT (a + b) FROM t)",
            "SELECT to_json(struct(*)) AS j FROM (SELECT a + b FROM t)",
        ),
        (
            "SELECT to_json(struct(*)) AS j FROM (SELECT a != b FROM t)",
            "SELECT to_json(struct(*)) AS j FROM (SELECT a <> b FROM t)",
        ),
        (
            "SELECT to_json(struct(*)) AS j FROM (SELECT sum(a) FROM t)",
            "SELECT to_json(struct(*)) AS j FROM (SELECT SUM(a) FROM t)",
        ),
        (
            "SELECT to_json(struct(*)) AS j FROM (SELECT a+b FROM t)",
            "SELECT to_json(struct(*)) AS j FROM (SELECT a + b FROM t)",
        ),
        ("SELECT f(a) AS x, 1 AS y FROM t", "SELECT F(a) AS x, 1 AS y FROM t"),
    ],
)
def test_queries_are_compared_by_what_is_written(setting: str, query: str, other: str) -> None:
    rest = f"{TABLES} CREATE FUNCTION f(x INT) RETURNS INT AS x + 1; CREATE MATERIALIZED VIEW v AS "
    before, after = (snapshot(f"{rest}{one};", spec(setting)) for one in (query, other))
    assert changed(compare(before, after)) == {"v"}


@pytest.mark.parametrize("setting", STRICT)
def test_layout_and_comments_are_no_change(setting: str) -> None:
    texts = ("SELECT a, b FROM t WHERE a = 1", "SELECT a,  b -- both\nFROM t /* of t */ WHERE\ta = 1")
    before, after = (snapshot(f"{TABLES} CREATE MATERIALIZED VIEW v AS {one};", spec(setting)) for one in texts)
    assert changed(compare(before, after)) == set()


@pytest.mark.parametrize("setting", STRICT)
def test_bodies_of_functions_are_compared_by_what_is_written(setting: str) -> None:
    text = TABLES + "CREATE FUNCTION f(x INT) RETURNS INT AS {0}; CREATE MATERIALIZED VIEW v AS SELECT f(a) AS x FROM t;"
    before, after = (snapshot(text.format(one), spec(setting)) for one in ("(x + 1)", "x + 1"))
    assert "v" in changed(compare(before, after))


@pytest.mark.parametrize("setting", STRICT)
@pytest.mark.parametrize("turned", [False, True])
def test_a_renamed_or_moved_column_reaches_whatever_reads_its_table(setting: str, turned: bool) -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT id FROM t;"
    after = "CREATE TABLE t (b INT, id INT, a INT);" if turned else "CREATE TABLE t (id INT, a INT, c INT);"
    said = spec(setting).replace("evolve,", "evolve, moved: [{from: t.b, to: t.c}],") if not turned else spec(setting)
    found = compare(snapshot("CREATE TABLE t (id INT, a INT, b INT);" + view, spec(setting)), snapshot(after + view, said))
    assert changed(found) == {"t", "v"}


def test_one_side_decides_for_both() -> None:
    view = f"{TABLES} CREATE MATERIALIZED VIEW v AS SELECT a FROM t WHERE a != 1;"
    plain = snapshot(view)
    strict = snapshot(view.replace("!=", "<>"), spec(STRICT[0]))
    assert plain.program.spelling is Spelling.EVENED_OUT
    assert strict.program.spelling is Spelling.LAYOUT_ASIDE
    for pair in ((plain, strict), (strict, plain)):
        causes = next(one.causes for one in compare(*pair).relations if one.name == "v")
        assert {type(one).__name__ for one in causes} == {"QueryChanged", "SettingsChanged"}
    assert changed(compare(plain, snapshot(view, spec(STRICT[0], "false")))) <= {"v"}


def test_where_spark_reads_by_itself_lineage_and_canonical_texts_hold() -> None:
    views = "CREATE MATERIALIZED VIEW w AS SELECT id, {0} AS b FROM t; CREATE MATERIALIZED VIEW v AS SELECT {1} FROM w;"
    view = TABLES + views
    said = spec("spark.sql.session.timeZone", "Europe/Berlin")
    before, after = snapshot(view.format("b", "id"), said), snapshot(view.format("b + 9", "ID"), said)
    assert changed(compare(before, after)) == {"w"}
