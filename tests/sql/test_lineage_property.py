"""What lineage promises, against a database: a column that it does not name does not matter. And what it names is read."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from reconciler.base.names import fold
from reconciler.sql.check import analyse_query
from reconciler.sql.lineage import ALL_COLUMNS
from tests.plan.wide_programs import program
from tests.sql.small_queries import DATA, RELATIONS, TABLES, Data, Query, Row, queries, run


def _projected(rows: list[tuple[object, ...]], kept: list[int]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row[index] for index in kept) for row in rows)


def _with_other_values(data: Data, table: str, column: str, other: list[int | None]) -> Data:
    index = TABLES[table].index(column)
    rows: list[Row] = [
        (*row[:index], other[number % len(other)], *row[index + 1 :]) for number, row in enumerate(data[table])
    ]
    return {**data, table: rows}


@settings(max_examples=100, deadline=None)
@given(queries(), DATA, some.lists(some.none() | some.integers(0, 3), min_size=1, max_size=6))
def test_a_column_that_lineage_does_not_name_changes_nothing(query: Query, data: Data, other: list[int | None]) -> None:
    changes_nothing_that_lineage_does_not_name(query, data, other)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(queries(), DATA, some.lists(some.none() | some.integers(0, 3), min_size=1, max_size=6))
def test_a_column_that_lineage_does_not_name_changes_nothing_in_many_more_cases(
    query: Query, data: Data, other: list[int | None]
) -> None:
    changes_nothing_that_lineage_does_not_name(query, data, other)


def changes_nothing_that_lineage_does_not_name(query: Query, data: Data, other: list[int | None]) -> None:
    analysis = analyse_query(query.text, None, RELATIONS)
    assert [one.message for one in analysis.diagnostics] == []
    lineage = analysis.lineage
    assert lineage is not None
    assert tuple(one.name for one in lineage.outputs) == query.names
    before = run(query.text, data)
    for table, columns in TABLES.items():
        for column in columns:
            if (table, column) in lineage.rows:
                continue
            kept = [index for index, one in enumerate(lineage.outputs) if (table, column) not in one.sources]
            after = run(query.text, _with_other_values(data, table, column, other))
            assert _projected(before, kept) == _projected(after, kept), (table, column)


def _wide(seed: int) -> list[tuple[str, dict[str, dict[str, str]]]]:
    """The queries of a program in all of Spark's SQL, each with the columns that it may read."""
    wide = program(random.Random(seed))
    relations = {one.name: dict(one.columns) for one in wide.tables}
    relations |= {one.name: dict.fromkeys(one.columns, "INT") for one in wide.views}
    return [(one.query, relations) for one in wide.views]


def _consistent(query: str, relations: dict[str, dict[str, str]]) -> None:
    analysis = analyse_query(query, None, relations)
    if analysis.diagnostics:
        return
    read = {one.relation: set(map(fold, one.columns)) for one in analysis.reads}
    if analysis.lineage is not None:
        named = {*analysis.lineage.rows, *(source for one in analysis.lineage.outputs for source in one.sources)}
        for relation, column in named:
            assert column in read[relation], (query, relation, column)
    if any(ALL_COLUMNS in columns for columns in read.values()):
        return
    # What is not read is not missed: each name means what it meant.
    left = {
        name: {column: kind for column, kind in columns.items() if column in read.get(name, ())}
        for name, columns in relations.items()
    }
    if all(left[name] for name in read):
        again = analyse_query(query, None, left)
        assert (again.columns, again.reads, again.lineage) == (analysis.columns, analysis.reads, analysis.lineage), query
        assert again.diagnostics == ()


@settings(max_examples=75, deadline=None)
@given(queries())
def test_what_lineage_names_is_read_and_nothing_else_is_missed(query: Query) -> None:
    lineage_names_what_is_read(query)


@pytest.mark.slow
@settings(max_examples=800, deadline=None)
@given(queries())
def test_what_lineage_names_is_read_and_nothing_else_is_missed_in_many_more_cases(query: Query) -> None:
    lineage_names_what_is_read(query)


def lineage_names_what_is_read(query: Query) -> None:
    _consistent(query.text, {name: dict(columns) for name, columns in RELATIONS.items()})


def test_what_lineage_names_is_read_in_all_of_sparks_sql() -> None:
    for seed in range(200):
        for query, relations in _wide(seed):
            _consistent(query, relations)


_NAMES = ("a", "b", "x", "y", "z")


def _clashing(chance: random.Random) -> tuple[str, dict[str, dict[str, str]]]:
    """A query in a query, where columns, relations and aliases have the same few names."""
    relations = {}
    for name in ("x", "y", "u"):
        kinds = chance.choices(("INT", "STRUCT<a:INT,b:INT>"), (4, 1), k=2)
        relations[name] = dict(zip(chance.sample(_NAMES, 2), kinds, strict=True))

    def named() -> str:
        head = f"{chance.choice(_NAMES)}." if chance.random() < 0.4 else ""
        return head + chance.choice(_NAMES)

    def item() -> str:
        inner = chance.choice(["{}", "{}", "(SELECT count(*), {} FROM {})"])
        relation = chance.choice(sorted(relations))
        return f"{inner.format(relation) if inner == '{}' else inner.format(named(), relation)} AS {chance.choice(_NAMES)}"

    within = f"SELECT {named()} AS {chance.choice(_NAMES)}, {named()} AS o FROM {item()}"
    within += chance.choice(["", f", {item()}", f" JOIN {item()} USING ({chance.choice(_NAMES)})"])
    within += chance.choice(["", f" WHERE {named()} IS NOT NULL", f" ORDER BY {named()} LIMIT 1"])
    value = chance.choice(
        [f"(SELECT o FROM ({within}) AS {chance.choice(_NAMES)} WHERE {named()} > 1)", f"EXISTS ({within})"]
    )
    return f"SELECT {value} AS o FROM {item()}", relations


def test_what_lineage_names_is_read_where_names_clash() -> None:
    for seed in range(400):
        _consistent(*_clashing(random.Random(seed)))
