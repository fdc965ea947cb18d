"""Plans of wide programs (`wide_programs`) carried out by SQLite, as far as it reads them as Spark does: NATURAL and USING,
`*`, correlated subqueries, recursion, functions, renames. `test_plans_are_right_on_spark` goes through all of them.
"""

import re
import sqlite3
from collections import Counter
from functools import partial

import pytest

from reconciler.project.program.model import Program
from tests.plan.carried_out import Given, Tables, Tally, listed_names, needed, wrong_spares

SEEDS = 650


def call(program: Program, body: str, value: object) -> object:
    """A function of the program, whose body may call others."""
    connection = sqlite3.connect(":memory:")
    try:
        for name, function in program.functions.items():
            if f"{name}(" in body:
                inner = getattr(function.declaration.body, "expression", "")
                connection.create_function(name, 1, partial(call, program, inner))
        found: object = connection.execute(f"SELECT {body} FROM (SELECT ? AS x)", (value,)).fetchone()[0]
        return found
    finally:
        connection.close()


_COUNT = re.compile(r"count\(\*(?: EXCEPT \((\w+)\))?(, \w+)?\)(?=.* FROM (\w+))")


def _counted(connection: sqlite3.Connection, query: str) -> str:
    """The query with Spark's counts of rows without a NULL as SQLite knows them."""

    def counted(found: re.Match[str]) -> str:
        left, besides, relation = found.groups()
        if left is None and besides is None:
            return "count(*)"
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({relation})") if row[1].lower() != left]
        conditions = [f"{name} IS NOT NULL" for name in [*names, *([besides[2:]] if besides else [])]]
        return f"count(CASE WHEN {' AND '.join(conditions) or '1'} THEN 1 END)"

    return _COUNT.sub(counted, query)


def compute(program: Program, view: str, tables: Tables) -> Given | None:
    """A view over tables, its columns by name: SQLite has those of a NATURAL JOIN in another order."""
    connection = sqlite3.connect(":memory:")
    try:
        for name, function in program.functions.items():
            connection.create_function(name, 1, partial(call, program, getattr(function.declaration.body, "expression", "")))
        for key in needed(program, view):
            if key in tables:
                columns = [name for name, _ in tables[key].columns]
                connection.execute(f"CREATE TABLE {key} ({', '.join(columns)})")
                for row in tables[key].rows:
                    connection.execute(f"INSERT INTO {key} VALUES ({', '.join(row)})")
            else:
                listed, query = listed_names(program.views[key]), _counted(connection, program.views[key].query)
                connection.execute(f"CREATE VIEW {key}{listed} AS {query}")
        cursor = connection.execute(f"SELECT * FROM {view}")
        shown = [part[0].lower() for part in cursor.description]
        rows = Counter(tuple(sorted(zip(shown, map(repr, row), strict=True))) for row in cursor)
        return Given(tuple((name, "") for name in sorted(shown)), rows)
    except sqlite3.OperationalError:
        return None
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("count", "names_are_data"),
    [(SEEDS // 8, False), *(pytest.param(SEEDS, one, marks=pytest.mark.slow) for one in (False, True))],
)
def test_what_a_plan_leaves_is_what_its_query_gives(count: int, names_are_data: bool) -> None:
    tally = Tally()
    found = [wrong for seed in range(count) for wrong in wrong_spares(seed, compute, tally, True, names_are_data)]
    assert found == [], "\n".join(found[:5])
    assert tally.compared > count / 5
    assert tally.spared > count / 12
