"""Columns of the relations of a FROM that its joins and its WHERE hold equal.

A step has changed rows of one relation. Of another relation it needs only the rows whose column has an equal value, where
the query says that both columns are equal. An equality leads from a column that is known to one that is looked for.

- An equality is `a = b` between columns of two relations, as a part of the AND of WHERE or of an ON. Both columns have the
  same declared type, one whose equal values are the same value: whole numbers, dates.
- An equality of WHERE or of an INNER JOIN leads both ways.
- An equality of a LEFT, SEMI or ANTI JOIN leads to the relation that the join brings, and not back: rows of the first side
  that have no partner stay. An equality of a RIGHT JOIN leads from the relation that the join brings. An equality of a
  FULL JOIN leads nowhere, nor does one of an outer join between two relations of the side that stays.
- Equalities may be followed one after the other. Where a relation on the way has no row, but NULLs, an inner equality that
  leads on does not hold, and an outer one leads to NULLs: no row is missed.
- A column is known by the name of its relation, or because only one relation has a column of that name. Where a column has
  the name of a relation (then `name.x` may be a field of it), no column is known.
- A SELECT in FROM hands on the columns that it names by themselves: they are those of its relations. Its own equalities lead
  as well, whatever it is joined with: it gives no row for which they do not hold.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.references import relation_key

_KINDS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "DATE"})
Place: TypeAlias = tuple[int, str]
"""A relation of the FROM, by its index, and a column (folded)."""

JoinedColumn: TypeAlias = tuple[str, int, str]
"""A column (folded) of a relation, and one that it leads to: the index of its relation, and its name (folded)."""

ShownColumn: TypeAlias = tuple[str, str, str]
"""A column (folded) of a relation within a SELECT in FROM, that one's alias, and how the column is called there."""


def joined_columns(sight: "Sight") -> tuple[tuple[JoinedColumn, ...], ...]:
    """For each relation of a FROM where its columns lead to."""
    found: list[set[JoinedColumn]] = [set() for _ in range(sight.count)]
    for one in sight.with_those_within():
        for left, right, join in one.equal_places():
            for start, end in ((left, right), (right, left)):
                if join is None or _leads(join, one.is_item_of(start[0], join), one.is_item_of(end[0], join)):
                    found[start[0]].add((start[1], *end))
    return tuple(tuple(sorted(one)) for one in found)


def _leads(join: exp.Join, from_item: bool, to_item: bool) -> bool:
    """Whether an equality of an outer join leads from one of its columns to the other. `from_item`, `to_item`: that one
    is of the relation that the join brings."""
    if join.side == "FULL":
        return False
    # Rows of the side that stays come whether it holds or not: so it leads nowhere between two columns of that side.
    return from_item and not to_item if join.side == "RIGHT" else to_item


def items_of_from(node: exp.Select) -> list[exp.Expr]:
    """What FROM of a block names, joins included, in order."""
    origin = node.args.get("from_")
    joins = node.args.get("joins") or ()
    return [origin.this, *(join.this for join in joins)] if origin is not None else []


@dataclass(frozen=True, slots=True)
class _Item:
    """What FROM names: its alias and its columns (folded), each with what it is (None: not surely known). Its relations are
    those from the index `first` up to `end`."""

    node: exp.Expr
    name: str
    columns: Mapping[str, Place | None]
    first: int
    end: int


class Sight:
    """What the names of columns mean over the FROM of a block, whose relations are counted from `first`. `tables` are these
    as they stand there."""

    def __init__(self, node: exp.Select, relations: Mapping[str, Mapping[str, str | None]], first: int = 0) -> None:
        self.node = node
        self._items: list[_Item] = []
        self._within: list[Sight] = []
        self._kinds: dict[Place, str | None] = {}
        self.tables: list[exp.Expr] = []
        end = first
        for item in items_of_from(node):
            start = end
            if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select):
                within = Sight(item.this, relations, start)
                self._within.append(within)
                self._kinds |= within._kinds
                columns, end = within.given(), start + within.count
                self.tables += within.tables
            else:
                declared = relations[relation_key(item)] if isinstance(item, exp.Table) else {}
                columns, end = {fold(name): (start, fold(name)) for name in declared}, start + 1
                self._kinds |= {(start, fold(name)): kind for name, kind in declared.items()}
                self.tables.append(item)
            self._items.append(_Item(item, fold(item.alias_or_name), columns, start, end))

    @property
    def count(self) -> int:
        """How many relations there are."""
        return len(self.tables)

    def with_those_within(self) -> Iterator["Sight"]:
        """This, and that of each SELECT in FROM."""
        yield self
        for one in self._within:
            yield from one.with_those_within()

    def place(self, column: exp.Column) -> Place | None:
        """What a column is; None where that is not surely known."""
        name, of = fold(column.name), fold(column.table)
        if column.args.get("db") or column.args.get("catalog") or (of and self.has_column(of)):
            return None
        found = [item for item in self._items if name in item.columns and of in ("", item.name)]
        return found[0].columns[name] if len(found) == 1 else None

    def has_column(self, name: str) -> bool:
        """Whether what FROM names has a column of that name (folded)."""
        return any(name in item.columns for item in self._items)

    def is_item_of(self, at: int, join: exp.Join) -> bool:
        """Whether a relation is the one that a join brings, or stands within it."""
        return any(item.node is join.this and item.first <= at < item.end for item in self._items)

    def kind(self, place: Place) -> str | None:
        """The type of a column, where equal values of it are the same."""
        declared = self._kinds[place]
        kind = declared.strip().upper() if declared is not None else ""
        return ("INT" if kind == "INTEGER" else kind) if kind in _KINDS else None

    def declared(self, place: Place) -> str | None:
        """The type of a column as it is declared."""
        return self._kinds[place]

    def given(self) -> dict[str, Place | None]:
        """The columns (folded) that the block gives to a SELECT around it, and what each is, where it is one by itself."""
        found: dict[str, Place | None] = {}
        for item in self.node.expressions:
            value = item.unalias()
            for name in [one.name for one in item.expressions] if isinstance(item, exp.Aliases) else [item.alias_or_name]:
                is_first = fold(name) not in found
                found[fold(name)] = self.place(value) if isinstance(value, exp.Column) and is_first else None
        return found

    def shown(self) -> tuple[tuple[ShownColumn, ...], ...]:
        """For each relation its columns that a SELECT in FROM hands on to the block."""
        found: list[list[ShownColumn]] = [[] for _ in range(self.count)]
        for item in self._items:
            if isinstance(item.node, exp.Subquery) and [one.name for one in self._items].count(item.name) == 1:
                for name, place in item.columns.items():
                    if place is not None:
                        found[place[0] - self._items[0].first].append((place[1], item.name, name))
        return tuple(tuple(one) for one in found)

    def equal_places(self) -> Iterator[tuple[Place, Place, exp.Join | None]]:
        """The equalities of the block itself between columns of two relations."""
        for one, other, join in equalities(self.node):
            left, right = self.place(one), self.place(other)
            if left is None or right is None or left[0] == right[0]:
                continue
            if self.kind(left) is not None and self.kind(left) == self.kind(right):
                yield left, right, join


def partners(sight: "Sight") -> tuple[frozenset[int], ...]:
    """For each relation of a FROM those without whose rows its own have no part in any row of the block: an equality with
    them holds for every row."""
    found: list[set[int]] = [set() for _ in range(sight.count)]
    for one in sight.with_those_within():
        for left, right, join in one.equal_places():
            if join is None:
                found[left[0]].add(right[0])
                found[right[0]].add(left[0])
    return tuple(frozenset(one) for one in found)


def what_holds(node: exp.Select) -> Iterator[exp.Expr]:
    """The conditions that hold for every row of a block: its WHERE, and the ON of INNER JOINs."""
    yield from (join.args["on"] for join in node.args.get("joins") or () if join.args.get("on") and _is_inner(join))
    if node.args.get("where") is not None:
        yield node.args["where"].this


def _is_inner(join: exp.Join) -> bool:
    return not (join.side or join.kind in ("SEMI", "ANTI"))


def equalities(node: exp.Select) -> Iterator[tuple[exp.Column, exp.Column, exp.Join | None]]:
    """Each equality of two columns, and the outer, SEMI or ANTI JOIN that it belongs to (None: it holds for every row)."""
    joins = node.args.get("joins") or ()
    deciding = [(join.args["on"], join) for join in joins if join.args.get("on") is not None]
    where = node.args.get("where")
    for condition, join in [*deciding, *([(where.this, None)] if where is not None else [])]:
        is_inner = join is None or _is_inner(join)
        for part in parts_of(condition):
            if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
                yield part.this, part.expression, None if is_inner else join


def has_only(node: exp.Expr, *known: str) -> bool:
    """Whether a part of a query says nothing but what these arguments say: others may turn it round (`NOT LIKE`)."""
    return all(name in known for name, value in node.args.items() if value)


def parts_of(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that an AND connects."""
    waiting = [condition]
    while waiting:
        one = waiting.pop().unnest()
        if isinstance(one, exp.And):
            waiting += [one.this, one.expression]
        else:
            yield one
