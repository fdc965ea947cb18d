"""Small random queries over two tables of integers, that SQLite and Spark read alike, and SQLite to run them.

Every query names its output columns. No division, no text: then results are the same in both, NULLs included.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as some

TABLES = {"t": ("a", "b", "c"), "u": ("a", "d", "e")}
RELATIONS = {table: dict.fromkeys(columns, "INT") for table, columns in TABLES.items()}
Row = tuple[int | None, ...]
Data = dict[str, list[Row]]

_ROWS = some.lists(some.tuples(*[some.none() | some.integers(0, 3)] * 3), max_size=6)
DATA: some.SearchStrategy[Data] = some.fixed_dictionaries(dict.fromkeys(TABLES, _ROWS))


@dataclass(frozen=True, slots=True)
class Query:
    """Its text and the names of its columns."""

    text: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class From:
    """A FROM with what stands behind it up to GROUP BY, and the columns in sight as they can be written."""

    text: str
    columns: tuple[str, ...]


def run(query: str, data: Data) -> list[tuple[object, ...]]:
    """The rows that SQLite gives."""
    connection = sqlite3.connect(":memory:")
    try:
        for table, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", data[table])
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@some.composite
def values(draw: some.DrawFn, columns: Sequence[str], depth: int = 1) -> str:
    """A value of these columns."""
    column = draw(some.sampled_from(columns))
    other = draw(some.sampled_from(columns))
    shapes = [column, f"{column} + 1", f"coalesce({column}, {other})", f"{column} * {other}"]
    shapes.append(f"CASE WHEN {column} > 1 THEN {other} ELSE 0 END")
    if depth:
        shapes += [
            f"(SELECT max(i.d) FROM u AS i WHERE i.e = {column})",
            f"(SELECT count(*) FROM t AS i WHERE i.b > {column})",
            "(SELECT sum(i.a) FROM t AS i WHERE i.c IN (SELECT j.e FROM u AS j))",
        ]
    return draw(some.sampled_from(shapes))


@some.composite
def conditions(draw: some.DrawFn, columns: Sequence[str]) -> str:
    """A condition on these columns."""
    value, other = draw(values(columns, 0)), draw(some.sampled_from(columns))
    shapes = [f"{value} > 1", f"{value} = {other}", f"{other} IS NULL", f"NOT {value} < {other}"]
    shapes.append(f"{other} IN (SELECT i.d FROM u AS i WHERE i.e > 0)")
    shapes.append(f"EXISTS (SELECT * FROM t AS i WHERE i.b = {other} AND i.c > 0)")
    shapes.append(f"{other} > 0 OR {value} BETWEEN 0 AND 1")
    return draw(some.sampled_from(shapes))


@some.composite
def sources(draw: some.DrawFn, depth: int, alias: str) -> From:
    """One item of FROM."""
    if depth and draw(some.booleans()):
        inner = draw(queries(depth - 1))
        return From(f"({inner.text}) AS {alias}", tuple(f"{alias}.{name}" for name in inner.names))
    table = draw(some.sampled_from(sorted(TABLES)))
    return From(f"{table} AS {alias}", tuple(f"{alias}.{name}" for name in TABLES[table]))


@some.composite
def froms(draw: some.DrawFn, depth: int) -> From:
    """FROM with up to one join, and WHERE."""
    left = draw(sources(depth, "x"))
    text, columns = left.text, left.columns
    kind = draw(some.sampled_from(["", "", "JOIN", "LEFT JOIN", ",", "USING"]))
    if kind == "USING":
        text, columns = "t AS x JOIN u AS y USING (a)", ("a", "x.b", "x.c", "y.d", "y.e")
    elif kind:
        right = draw(sources(depth, "y"))
        columns = (*left.columns, *right.columns)
        text = f"{text} {kind} {right.text}"
        if kind != ",":
            text += f" ON {draw(conditions(columns))}"
    if draw(some.booleans()):
        text += f" WHERE {draw(conditions(columns))}"
    return From(f"FROM {text}", columns)


AGGREGATES = (
    "sum({})",
    "count({})",
    "max({})",
    "min({})",
    "count(DISTINCT {})",
    "count(*)",
    "sum({}) FILTER (WHERE {} > 0)",
)


@some.composite
def aggregates(draw: some.DrawFn, columns: Sequence[str]) -> str:
    """An aggregate of these columns."""
    one, other = draw(some.sampled_from(columns)), draw(some.sampled_from(columns))
    return draw(some.sampled_from(AGGREGATES)).format(one, other)


@some.composite
def windows(draw: some.DrawFn, columns: Sequence[str]) -> str:
    """A window function of these columns, whose value does not depend on the order of ties."""
    one, other, third = (draw(some.sampled_from(columns)) for _ in range(3))
    function = draw(some.sampled_from([f"sum({one})", f"count({one})", "rank()", "dense_rank()"]))
    return f"{function} OVER (PARTITION BY {other} ORDER BY {third})"


@some.composite
def plain(draw: some.DrawFn, depth: int) -> Query:
    """A SELECT without GROUP BY."""
    origin = draw(froms(depth))
    count = draw(some.integers(1, 4))
    items = [draw(values(origin.columns) | windows(origin.columns)) for _ in range(count)]
    names = tuple(f"o{index}" for index in range(count))
    distinct = "DISTINCT " if draw(some.integers(0, 5)) == 0 else ""
    listed = ", ".join(f"{item} AS {name}" for item, name in zip(items, names, strict=True))
    text = f"SELECT {distinct}{listed} {origin.text}"
    if draw(some.integers(0, 5)) == 0:
        # All columns order it, so that ties are equal.
        text += f" ORDER BY {', '.join(names)} LIMIT 2"
    return Query(text, names)


@some.composite
def grouped(draw: some.DrawFn, depth: int) -> Query:
    """A SELECT with GROUP BY, or with aggregates alone."""
    origin = draw(froms(depth))
    keys = draw(some.lists(values(origin.columns, 0), max_size=2, unique=True))
    found = [draw(aggregates(origin.columns)) for _ in range(draw(some.integers(1, 3)))]
    names = tuple(f"o{index}" for index in range(len(keys) + len(found)))
    listed = ", ".join(f"{item} AS {name}" for item, name in zip([*keys, *found], names, strict=True))
    text = f"SELECT {listed} {origin.text}"
    if keys:
        shapes = [keys, [str(index + 1) for index in range(len(keys))]]
        if not {column.rpartition(".")[2] for column in origin.columns} & set(names):
            shapes.append(list(names[: len(keys)]))
        by = draw(some.sampled_from(shapes))
        text += f" GROUP BY {', '.join(by)}"
        if draw(some.booleans()):
            text += f" HAVING {draw(aggregates(origin.columns))} IN (1, 2)"
    return Query(text, names)


@some.composite
def combined(draw: some.DrawFn, depth: int) -> Query:
    """A set operation over two queries."""
    left, right = draw(queries(depth)), draw(queries(depth))
    width = min(len(left.names), len(right.names))
    word = draw(some.sampled_from(["UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"]))
    sides = [
        f"SELECT {', '.join(one.names[:width])} FROM ({one.text}) AS {alias}" for one, alias in ((left, "l"), (right, "r"))
    ]
    return Query(f" {word} ".join(sides), left.names[:width])


@some.composite
def named(draw: some.DrawFn, depth: int) -> Query:
    """A query with a CTE that is read twice."""
    inner = draw(queries(depth))
    one, other = (draw(some.sampled_from(inner.names)) for _ in range(2))
    condition = draw(conditions([f"p.{one}", f"q.{other}"]))
    text = f"WITH w AS ({inner.text}) SELECT p.{one} AS o0, q.{other} AS o1 FROM w AS p JOIN w AS q ON {condition}"
    return Query(text, ("o0", "o1"))


def queries(depth: int = 2) -> some.SearchStrategy[Query]:
    """Any of these, nested to a depth."""
    if not depth:
        return plain(0) | grouped(0)
    return plain(depth) | plain(depth) | grouped(depth) | combined(depth - 1) | named(depth - 1)
