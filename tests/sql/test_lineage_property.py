"""What lineage promises, against a database: a column that it does not name does not matter."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as some

from reconciler.sql.check import analyse_query
from tests.sql.small_queries import DATA, RELATIONS, TABLES, Data, Query, Row, queries, run


def _projected(rows: list[tuple[object, ...]], kept: list[int]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row[index] for index in kept) for row in rows)


def _with_other_values(data: Data, table: str, column: str, other: list[int | None]) -> Data:
    index = TABLES[table].index(column)
    rows: list[Row] = [
        (*row[:index], other[number % len(other)], *row[index + 1 :]) for number, row in enumerate(data[table])
    ]
    return {**data, table: rows}


@settings(max_examples=400, deadline=None)
@given(queries(), DATA, some.lists(some.none() | some.integers(0, 3), min_size=1, max_size=6))
def test_a_column_that_lineage_does_not_name_changes_nothing(query: Query, data: Data, other: list[int | None]) -> None:
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
