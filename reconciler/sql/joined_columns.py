"""Columns of the relations of a FROM that its joins and its WHERE hold equal.

A step has changed rows of one relation. Of another relation it needs only the rows whose column has an equal value, where
the query says that both columns are equal. An equality leads from a column that is known to one that is looked for.

- An equality is `a = b` between columns of two relations, as a part of the AND of WHERE or of an ON. Both columns have the
  same declared type, one whose equal values are the same value: whole numbers, dates.
- An equality of WHERE or of an INNER JOIN leads both ways.
- An equality of a LEFT, SEMI or ANTI JOIN leads to the relation that the join brings, and not back: rows of the first side
  that have no partner stay. An equality of a RIGHT JOIN leads from the relation that the join brings. An equality of a
  FULL JOIN leads nowhere, nor does an equality of an outer join between two relations of the same side.
- Equalities may be followed one after the other. Where a relation on the way has no row, but NULLs, an inner equality that
  leads on does not hold, and an outer one leads to NULLs: no row is missed.
- A column is known by the name of its relation, or because only one relation has a column of that name. Where a SELECT
  stands in FROM, or a column has the name of a relation (then `name.x` may be a field of it), no column is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.references import relation_key

_KINDS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "DATE"})
Place: TypeAlias = tuple[int, str]
"""A relation of the FROM, by its index, and a column (folded)."""

JoinedColumn: TypeAlias = tuple[str, int, str]
"""A column (folded) of a relation, and one that it leads to: the index of its relation, and its name (folded)."""


def joined_columns(
    node: exp.Select, tables: Sequence[exp.Table | None], relations: Mapping[str, Mapping[str, str | None]]
) -> tuple[tuple[JoinedColumn, ...], ...]:
    """For each relation of a FROM (None: one within a SELECT there) where its columns lead to."""
    sight = Sight(tables, relations)
    found: list[set[JoinedColumn]] = [set() for _ in tables]
    for one, other, join in equalities(node):
        left, right = sight.place(one), sight.place(other)
        if left is None or right is None or left[0] == right[0]:
            continue
        if sight.kind(left) is None or sight.kind(left) != sight.kind(right):
            continue
        for start, end in ((left, right), (right, left)):
            if join is None or _leads(join, sight.is_item_of(start[0], join), sight.is_item_of(end[0], join)):
                found[start[0]].add((start[1], *end))
    return tuple(tuple(sorted(one)) for one in found)


def _leads(join: exp.Join, from_item: bool, to_item: bool) -> bool:
    """Whether an equality of an outer join leads from one of its columns to the other. `from_item`, `to_item`: that one
    is of the relation that the join brings."""
    if join.side == "FULL":
        return False
    return from_item if join.side == "RIGHT" else to_item


class Sight:
    """What the names of columns mean over a FROM."""

    def __init__(self, tables: Sequence[exp.Table | None], relations: Mapping[str, Mapping[str, str | None]]) -> None:
        self._tables = tables
        self._names = [None if table is None else fold(table.alias or table.name) for table in tables]
        self._columns = [
            {} if table is None else {fold(name): kind for name, kind in relations[relation_key(table)].items()}
            for table in tables
        ]

    def place(self, column: exp.Column) -> Place | None:
        """What a column is; None where that is not surely known."""
        name, of = fold(column.name), fold(column.table)
        if column.args.get("db") or column.args.get("catalog") or (None in self._names):
            return None
        if of and self.has_column(of):
            return None
        if of:
            found = [at for at, one in enumerate(self._names) if one == of and name in self._columns[at]]
        else:
            found = [at for at, columns in enumerate(self._columns) if name in columns]
        return (found[0], name) if len(found) == 1 else None

    def has_column(self, name: str) -> bool:
        """Whether one of the relations has a column of that name (folded)."""
        return any(name in columns for columns in self._columns)

    def is_item_of(self, at: int, join: exp.Join) -> bool:
        """Whether a relation is the one that a join brings."""
        return self._tables[at] is join.this

    def kind(self, place: Place) -> str | None:
        """The type of a column, where equal values of it are the same."""
        declared = self._columns[place[0]][place[1]]
        kind = declared.strip().upper() if declared is not None else ""
        return ("INT" if kind == "INTEGER" else kind) if kind in _KINDS else None


def equalities(node: exp.Select) -> Iterator[tuple[exp.Column, exp.Column, exp.Join | None]]:
    """Each equality of two columns, and the outer, SEMI or ANTI JOIN that it belongs to (None: it holds for every row)."""
    joins = node.args.get("joins") or ()
    deciding = [(join.args["on"], join) for join in joins if join.args.get("on") is not None]
    where = node.args.get("where")
    for condition, join in [*deciding, *([(where.this, None)] if where is not None else [])]:
        is_inner = join is None or not (join.side or join.kind in ("SEMI", "ANTI"))
        for part in parts_of(condition):
            if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
                yield part.this, part.expression, None if is_inner else join


def parts_of(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that an AND connects."""
    waiting = [condition]
    while waiting:
        one = waiting.pop().unnest()
        if isinstance(one, exp.And):
            waiting += [one.this, one.expression]
        else:
            yield one
