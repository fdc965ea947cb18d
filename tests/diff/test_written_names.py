"""Names of columns that an output writes, spelled otherwise in letter case: a change wherever Spark may write another name.

What Spark really names them: tests/sql/test_written_names_on_spark.py."""

import pytest

from reconciler.diff.causes import ColumnNamesChanged, WrittenNamesChanged
from reconciler.diff.compare import compare
from reconciler.diff.model import Fate
from reconciler.diff.wording import describe_cause
from tests.sql.respelled_names import PROGRAMS, T, snapshot

PAIRS = (
    ("SELECT CAST(A AS STRING) FROM t", "SELECT CAST(a AS STRING) FROM t"),
    ("SELECT A::STRING FROM t", "SELECT a::STRING FROM t"),
    ("SELECT try_cast(A AS STRING) FROM t", "SELECT try_cast(a AS STRING) FROM t"),
    ("SELECT arr[A] FROM t", "SELECT arr[a] FROM t"),
    ("SELECT ARR[0] FROM t", "SELECT arr[0] FROM t"),
    (
        "SELECT * FROM (SELECT id, s FROM t) PIVOT (max(id) AS Last FOR s IN ('x'))",
        "SELECT * FROM (SELECT id, s FROM t) PIVOT (max(id) AS last FOR s IN ('x'))",
    ),
    ("FROM t |> AGGREGATE max(a) AS m GROUP BY ID", "FROM t |> AGGREGATE max(a) AS m GROUP BY id"),
    ("FROM t |> SELECT id |> SET ID = 1", "FROM t |> SELECT id |> SET id = 1"),
    ("FROM t |> SELECT A", "FROM t |> SELECT a"),
    ("FROM t |> SELECT id |> EXTEND 1 AS Z", "FROM t |> SELECT id |> EXTEND 1 AS z"),
    ("SELECT x.* FROM (SELECT CAST(Id AS INT) FROM t) x", "SELECT x.* FROM (SELECT CAST(id AS INT) FROM t) x"),
)


@pytest.mark.parametrize("pair", PAIRS, ids=[pair[0] for pair in PAIRS])
@pytest.mark.parametrize("between", ["", "LOCAL", "MATERIALIZED"])
def test_a_name_that_only_spark_knows_may_be_spelled_otherwise(pair: tuple[str, str], between: str) -> None:
    head = f"CREATE {between} VIEW b AS {{}}; CREATE VIEW o AS SELECT * FROM b;" if between else "CREATE VIEW o AS {};"
    before, after = (snapshot(T + head.format(query)) for query in pair)
    assert before.digest != after.digest
    found = compare(before, after)
    # A stored view on the way is written anew, too: what is read of it bears its names.
    assert [one.name for one in found.relations] == (["b", "o"] if between == "MATERIALIZED" else ["o"])
    assert found.relations[0].causes == (WrittenNamesChanged(),)
    assert {one.fate for one in found.relations} == {Fate.RECOMPUTED}
    assert describe_cause(found.relations[0].causes[0]).startswith("column names may be written with another spelling")


@pytest.mark.parametrize("pair", PAIRS, ids=[pair[0] for pair in PAIRS])
def test_without_an_output_it_is_no_change(pair: tuple[str, str]) -> None:
    before, after = (snapshot(f"{T}CREATE MATERIALIZED VIEW o AS {query};", output=False) for query in pair)
    assert before.digest == after.digest
    assert not compare(before, after).relations


@pytest.mark.parametrize("between", ["", "LOCAL", "MATERIALIZED"])
def test_a_name_of_a_list_after_a_generator_may_be_spelled_otherwise(between: str) -> None:
    head = f"CREATE {between} VIEW b AS {{}}; CREATE VIEW o AS SELECT * FROM b;" if between else "CREATE VIEW o AS {};"
    before, after = (snapshot(T + head.format(f"SELECT posexplode(arr) AS ({name}, Z) FROM t")) for name in ("P", "p"))
    (change,) = compare(before, after).relations
    assert (change.name, change.causes) == ("o", (ColumnNamesChanged(("P", "Z"), ("p", "Z")),))
    assert change.fate is Fate.RECOMPUTED


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "TABLE t",
        "SELECT * FROM (SELECT id, s FROM t) PIVOT (max(id) FOR s IN ('x'))",
        "SELECT * FROM t NATURAL JOIN u",
    ],
)
def test_a_column_of_a_table_that_is_spelled_otherwise_is_written_so(query: str) -> None:
    before = snapshot(f"{T}CREATE VIEW o AS {query};")
    after = snapshot(f"{T}CREATE VIEW o AS {query};".replace("Id BIGINT", "ID BIGINT"))
    (change,) = compare(before, after).relations
    assert isinstance(change.causes[0], ColumnNamesChanged | WrittenNamesChanged)
    assert describe_cause(change.causes[0]).startswith("column names")


def test_another_table_that_has_the_name_spelled_so_is_another_meaning() -> None:
    program = "CREATE TABLE t ({} INT, x INT); CREATE TABLE u ({} INT, y INT); CREATE VIEW o AS SELECT CAST(x AS STRING), {}"
    for query in ("t.* FROM t JOIN u ON x = y;", "a FROM t WHERE EXISTS (SELECT a FROM u);"):
        before, after = (snapshot(program.format(*names, query)) for names in (("A", "a"), ("a", "A")))
        assert [one.causes for one in compare(before, after).relations] == [(WrittenNamesChanged(),)]
        assert before.digest != after.digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The names are known, and the same.
        ("SELECT CAST(A AS STRING) AS a FROM t WHERE A > 1", "SELECT CAST(a AS STRING) AS a FROM T WHERE a > 1"),
        ("SELECT id FROM t GROUP BY ID", "SELECT id FROM t GROUP BY id"),
        ("SELECT * FROM (SELECT id FROM t WHERE A > 1)", "SELECT * FROM (SELECT id FROM t WHERE a > 1)"),
        # They are not, and what differs is no name.
        ("SELECT CAST(a AS STRING) FROM t", "select  cast(a as STRING) /* so */ from t"),
        ("SELECT arr[a] FROM t", "SELECT arr[a]  FROM t;"),
    ],
)
def test_what_reaches_no_name_is_no_change(before: str, after: str) -> None:
    pair = [snapshot(f"{T}CREATE VIEW o AS {query};") for query in (before, after)]
    assert not compare(*pair).relations


def test_a_column_that_is_added_is_no_other_name() -> None:
    program = f"{T}CREATE VIEW o AS SELECT CAST(A AS STRING) FROM t;"
    added = compare(snapshot(program), snapshot(program.replace("day DATE", "day DATE, More INT")))
    assert not any(isinstance(cause, WrittenNamesChanged) for one in added.relations for cause in one.causes)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_respelled_where_nothing_changed(program: str) -> None:
    assert not compare(snapshot(program), snapshot(program)).relations
