"""Which output columns two versions of a query differ in, and where that can't be said because rows may differ."""

import sqlite3
from collections import Counter

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as some

from reconciler.sql.canonicalise import canonical_query
from reconciler.sql.query_difference import changed_outputs
from tests.sql.small_queries import DATA, Data, aggregates, froms, run, values, windows


def changed(applied: str, desired: str, *names: tuple[str, ...]) -> str | None:
    """The changed names, in one text. `names`: the output columns of both sides, where they are told."""
    before, after = names or ((), ())
    found = changed_outputs(canonical_query(applied), canonical_query(desired), before, after)
    return None if found is None else " ".join(sorted(found))


CHANGED: dict[tuple[str, str], str] = {
    ("SELECT a, b FROM t", "SELECT a, b FROM t"): "",
    ("SELECT a, b FROM t", "SELECT b, a FROM t"): "",
    ("SELECT a, b FROM t", "SELECT a FROM t"): "b",
    ("SELECT a FROM t", "SELECT c AS x, a FROM t"): "x",
    ("SELECT a, b AS x FROM t", "SELECT a, b AS y FROM t"): "x y",
    ("SELECT a, b FROM t", "SELECT a, b + 1 AS B FROM t"): "b",
    ("SELECT a, concat(b, c) AS x FROM t", "SELECT a, concat(c, b) AS x FROM t"): "x",
    ("SELECT a, b FROM t WHERE b > 1", "SELECT a, b + 1 AS b FROM t WHERE b > 1"): "b",
    ("SELECT a, b FROM t ORDER BY b", "SELECT a, b + 1 AS b FROM t ORDER BY b"): "b",
    ("SELECT a, (SELECT max(b) FROM u) AS x FROM t", "SELECT a, (SELECT min(b) FROM u LIMIT 1) AS x FROM t"): "x",
    ("SELECT a, b IS DISTINCT FROM c AS x FROM t", "SELECT a, b IS NOT DISTINCT FROM c AS x FROM t"): "x",
    ("SELECT a, rank() OVER (ORDER BY b) AS r FROM t", "SELECT a, rank() OVER (ORDER BY c) AS r FROM t"): "r",
    ("SELECT a, rand() AS r FROM t", "SELECT a, uuid() AS r FROM t"): "r",
    ("WITH w AS (SELECT a FROM t) SELECT a FROM w", "WITH w AS (SELECT a FROM t) SELECT a, 1 AS one FROM w"): "one",
    # Groups stay what they are
    ("SELECT a, sum(b) AS s FROM t GROUP BY a", "SELECT a, sum(c) AS s, count(*) AS n FROM t GROUP BY a"): "n s",
    ("SELECT a, sum(b) AS s FROM t GROUP BY 1", "SELECT a, sum(c) AS s FROM t GROUP BY 1"): "s",
    ("SELECT a, sum(b) AS s FROM t GROUP BY a HAVING count(*) > 1", "SELECT a FROM t GROUP BY a HAVING count(*) > 1"): "s",
    ("SELECT sum(b) AS s FROM t", "SELECT sum(b) AS s, max(b) AS m FROM t"): "m",
    ("SELECT a FROM t QUALIFY rank() OVER (ORDER BY b) = 1", "SELECT a, c FROM t QUALIFY rank() OVER (ORDER BY b) = 1"): "c",
    # An item that uses a changed one changes with it, and so on
    ("SELECT a AS x, x + 1 AS y, y + 1 AS z, d FROM t", "SELECT b AS x, x + 1 AS y, y + 1 AS z, d FROM t"): "x y z",
    ("SELECT a AS x, x + 1 AS y FROM t", "SELECT x + 1 AS y, a AS x FROM t"): "y",
    ("SELECT x + 1 AS y FROM t", "SELECT a AS x, x + 1 AS y FROM t"): "x y",
    ("SELECT a AS x, t.x AS y FROM t", "SELECT b AS x, t.x AS y FROM t"): "x",
}


@pytest.mark.parametrize(("applied", "desired"), CHANGED)
def test_changed_columns(applied: str, desired: str) -> None:
    assert changed(applied, desired) == CHANGED[applied, desired]
    assert changed(desired, applied) == CHANGED[applied, desired]


ROWS_MAY_DIFFER = [
    ("SELECT a FROM t", "SELECT a FROM u"),
    ("SELECT a FROM t", "SELECT a FROM t WHERE a > 1"),
    ("SELECT a FROM t", "SELECT a FROM t JOIN u ON t.a = u.b"),
    ("SELECT a FROM t", "SELECT DISTINCT a FROM t"),
    ("SELECT DISTINCT a, b FROM t", "SELECT DISTINCT a FROM t"),
    ("SELECT a FROM t UNION SELECT b FROM t", "SELECT a FROM t UNION SELECT c FROM t"),
    ("SELECT a, b FROM t UNION ALL SELECT a, b FROM u", "SELECT a, c FROM t UNION ALL SELECT a, b FROM u"),
    ("(SELECT a, b FROM t)", "(SELECT a FROM t)"),
    ("SELECT a, b FROM t LIMIT 3", "SELECT a FROM t LIMIT 3"),
    ("SELECT a, b FROM (SELECT a, b FROM t LIMIT 3) x", "SELECT a FROM (SELECT a, b FROM t LIMIT 3) x"),
    ("SELECT a, b FROM t TABLESAMPLE (10 PERCENT)", "SELECT a FROM t TABLESAMPLE (10 PERCENT)"),
    ("SELECT a, b FROM t WHERE rand() < 1", "SELECT a FROM t WHERE rand() < 1"),
    ("WITH w AS (SELECT a FROM t) SELECT a FROM w", "WITH w AS (SELECT a FROM u) SELECT a FROM w"),
    ("SELECT a, count(*) AS n FROM t GROUP BY ALL", "SELECT a, b, count(*) AS n FROM t GROUP BY ALL"),
    ("SELECT a AS g, count(*) AS n FROM t GROUP BY g", "SELECT b AS g, count(*) AS n FROM t GROUP BY g"),
    ("SELECT a, count(*) AS n FROM t GROUP BY 1", "SELECT b, count(*) AS n FROM t GROUP BY 1"),
    ("SELECT a, b FROM t GROUP BY 1, a, b", "SELECT b, a FROM t GROUP BY 1, a, b"),
    ("SELECT a, max(c) AS m FROM t GROUP BY ROLLUP (1)", "SELECT b, max(c) AS m FROM t GROUP BY ROLLUP (1)"),
    ("SELECT *, 1 AS x FROM t GROUP BY 1", "SELECT *, 2 AS x FROM t GROUP BY 1"),
    ("SELECT a, sum(b) AS s FROM t GROUP BY a HAVING s > 1", "SELECT a, sum(c) AS s FROM t GROUP BY a HAVING s > 1"),
    (
        "SELECT a, rank() OVER (ORDER BY b) AS r FROM t QUALIFY r = 1",
        "SELECT a, rank() OVER (ORDER BY c) AS r FROM t QUALIFY r = 1",
    ),
    ("SELECT a FROM t", "SELECT max(a) AS a FROM t"),
    ("SELECT a FROM t", "SELECT sum(sum(a)) OVER () AS a FROM t"),
    ("SELECT a FROM t", "SELECT own(a) AS a FROM t"),
    ("SELECT a FROM t", "SELECT explode(a) AS a FROM t"),
    ("SELECT a, 1 AS x FROM t", "SELECT a, stack(2, 1, 2) AS x FROM t"),
    ("SELECT a, explode(b) AS x FROM t", "SELECT a FROM t"),
    ("SELECT * FROM t", "SELECT a FROM t"),
    ("SELECT *, a AS x FROM t", "SELECT *, b AS x FROM t"),
    ("SELECT a, count(*) FROM t GROUP BY a", "SELECT a, sum(b) FROM t GROUP BY a"),
    ("SELECT a AS x, b AS x FROM t", "SELECT a AS x FROM t"),
    ("SELECT /*+ BROADCAST(t) */ a FROM t", "SELECT a FROM t"),
    ("FROM t SELECT a", "FROM t SELECT b"),
    ("SELECT a FROM", "SELECT b FROM"),
    ("SELECT 'a", "SELECT 'b"),
    ("", ""),
]


@pytest.mark.parametrize(("applied", "desired"), ROWS_MAY_DIFFER)
def test_rows_may_differ(applied: str, desired: str) -> None:
    assert changed(applied, desired) is None
    assert changed(desired, applied) is None


def test_known_names_tell_the_columns_of_a_star_and_of_what_has_no_name() -> None:
    names = ("a", "b", "x")
    assert changed("SELECT *, a AS x FROM t", "SELECT *, b AS x FROM t", names, names) == "x"
    assert changed("SELECT *, a AS x FROM t", "SELECT * FROM t", names, ("a", "b")) == "x"
    assert changed("SELECT *, a AS x FROM t", "SELECT *, b AS x FROM t", names, ("a", "c", "x")) is None
    assert changed("SELECT * EXCEPT (c), a AS x FROM t", "SELECT * EXCEPT (d), a AS x FROM t", names, names) is None
    assert changed("SELECT a, b, 1 FROM t", "SELECT a, b, 2 FROM t", names, names) == "x"
    assert changed("SELECT a, b, 1 FROM t", "SELECT a, b, 2 FROM t", names, ("a", "b")) is None


def test_a_word_that_could_end_the_list_hides_nothing() -> None:
    applied = "SELECT a AS offset, 1 + offset AS z FROM t"
    assert changed(applied, applied.replace("a AS", "b AS")) in (None, "offset z")


@some.composite
def _versions(draw: some.DrawFn) -> tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]:
    """Two queries that differ in their select list, with the names of their columns."""
    origin = draw(froms(1))
    tail = origin.text
    is_grouped = draw(some.booleans())
    plain = values(origin.columns) | windows(origin.columns)
    pool = [(f"n{index}", draw(aggregates(origin.columns) if is_grouped else plain)) for index in range(3)]
    other = [(name, draw(aggregates(origin.columns) | some.just(item))) for name, item in pool]
    if not is_grouped and draw(some.integers(0, 4)) != 0:
        other = [(name, draw(plain | some.just(item))) for name, item in pool]
    if is_grouped and draw(some.booleans()):
        key = draw(some.sampled_from(origin.columns))
        other_key = draw(some.sampled_from((key, key, origin.columns[0])))
        tail += f" GROUP BY {draw(some.sampled_from([key, 'k', '1']))}"
        pool.insert(0, ("k", key))
        other.insert(0, ("k", other_key))
        if draw(some.booleans()):
            tail += f" HAVING {draw(some.sampled_from(['n1', 'count(*)', 'n2']))} > 0"
    sides = []
    for items in (pool, other):
        kept = draw(some.permutations(items)) if draw(some.booleans()) else items
        kept = kept[: draw(some.integers(1, len(items)))]
        distinct = "DISTINCT " if draw(some.integers(0, 9)) == 0 else ""
        listed = ", ".join(f"{item} AS {name}" for name, item in kept)
        sides.append((f"SELECT {distinct}{listed} {tail}", tuple(name for name, _ in kept)))
    return sides[0], sides[1]


@settings(max_examples=100, deadline=None)
@given(_versions(), DATA)
def test_unchanged_columns_have_the_same_rows(
    versions: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]], data: Data
) -> None:
    unchanged_columns_are_the_same(versions, data)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(_versions(), DATA)
def test_unchanged_columns_have_the_same_rows_in_many_more_cases(
    versions: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]], data: Data
) -> None:
    unchanged_columns_are_the_same(versions, data)


def unchanged_columns_are_the_same(
    versions: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]], data: Data
) -> None:
    (applied, before), (desired, after) = versions
    found = changed_outputs(canonical_query(applied), canonical_query(desired), before, after)
    event("rows may differ" if found is None else "columns are told")
    if found is None:
        return
    try:
        rows = run(applied, data), run(desired, data)
    except sqlite3.Error:
        # SQLite refuses what Spark refuses, too: a name or a number that stands for no column, or for an aggregate.
        return
    kept = [name for name in before if name in after and name not in found]
    one, other = (
        Counter(tuple(row[names.index(name)] for name in kept) for row in side)
        for side, names in zip(rows, (before, after), strict=True)
    )
    assert one == other
