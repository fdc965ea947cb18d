"""Names within one query: what a FROM brings into sight, where a column comes from, and what a value is made of.

Rules (Spark's): a column is looked for in the sources of its own block, then in the names of the select list, then in
the blocks around it. Columns joined by USING or NATURAL are one column. A source whose columns are not known (`OPEN`)
may have any: nothing is said against a name that could be one of its columns.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.sql.expressions import together
from reconciler.sql.lineage import ALL_COLUMNS
from reconciler.sql.repeatable import Number, numbers_together

Sources = frozenset[tuple[str, str]]
"""Pairs (relation, column), folded. A function of the pipeline's own is a pair, too (`CALLED`, name)."""

CALLED: Final = "()"
"""Stands for the relation of what is no column but a function; no relation has such a name."""


class Value(NamedTuple):
    """A value: its type (None: not known), the columns that reach it, whether it is repeatable, whether it surely is an
    exact number. Once the walk does not surely know what it met (`Resolver.is_traced`), only the type says something."""

    type: str | None
    sources: Sources
    repeatable: bool
    number: Number | None

    @property
    def untyped(self) -> "Value":
        """What descends from the same, of a type that is not known."""
        return Value(None, self.sources, self.repeatable, None)


CONSTANT: Final = Value(None, frozenset(), True, None)
UNREPEATABLE: Final = Value(None, frozenset(), False, None)


def either(values: Iterable[Value]) -> Value:
    """A value that may be any of these."""
    found = list(values)
    if len(found) == 1:
        return found[0]
    sources: Sources = frozenset().union(*[value.sources for value in found])
    kind = together([value.type for value in found])
    number = numbers_together(value.number for value in found)
    return Value(kind, sources, all(value.repeatable for value in found), number)


class Output(NamedTuple):
    """A column that a query block gives: its name (None: Spark makes one up) and its value."""

    name: str | None
    value: Value

    @property
    def type(self) -> str | None:
        return self.value.type


Outputs = tuple[Output, ...] | None
"""The columns of a query; None when they are not known."""


@dataclass(slots=True)
class Rows:
    """What decides the rows of a block."""

    sources: set[tuple[str, str]] = field(default_factory=set)
    repeatable: bool = True

    def add(self, value: Value) -> None:
        self.sources |= value.sources
        self.repeatable = self.repeatable and value.repeatable

    def add_block(self, block: "Block") -> None:
        self.sources |= block.rows
        self.repeatable = self.repeatable and block.repeatable


class Block(NamedTuple):
    """What a query block gives: its columns, the sources of its rows, whether its rows are repeatable."""

    columns: Outputs
    rows: Sources
    repeatable: bool

    def whole(self) -> Value:
        """Everything that this block is made of, as one value: what a subquery brings into an expression."""
        columns = self.columns or ()
        value = either([*(column.value for column in columns), Value(None, self.rows, self.repeatable, Number.NULL)])
        return value._replace(type=columns[0].type) if len(columns) == 1 else value.untyped


class Source:
    """One item of FROM. `columns` is None when they are not known; `relation` is the relation read, folded, if it is one."""

    __slots__ = ("by_key", "columns", "is_open", "name", "relation")

    def __init__(self, name: str | None, columns: Outputs, relation: str | None = None) -> None:
        self.name = name
        self.columns = columns
        self.relation = relation
        self.by_key: dict[str, Output] = {}
        self.is_open = columns is None
        for column in columns or ():
            if column.name is None:
                self.is_open = True
                continue
            key = fold(column.name)
            known = self.by_key.get(key)
            self.by_key[key] = column if known is None else Output(column.name, either([known.value, column.value]))


@dataclass(slots=True)
class Scope:
    """The names in sight of one block.

    `shape` are the columns of `*`, in order, but for those of sources whose columns are not known; `is_shaped`: the order is
    known. `merged` are names joined by USING. `aliases` are names of the select list so far, `coming` all that it has;
    `is_relaxed`: the clauses after the select list are read, where a name may mean either. `parameters`: those of a lambda.
    """

    parent: "Scope | None"
    rows: Rows
    sources: list[Source] = field(default_factory=list)
    shape: list[Output] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    is_shaped: bool = True
    aliases: dict[str, Value] = field(default_factory=dict)
    coming: set[str] = field(default_factory=set)
    is_relaxed: bool = False
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    named: dict[str | None, list[Source]] = field(default_factory=dict)

    def add(self, source: Source) -> None:
        self.sources.append(source)
        self.named.setdefault(source.name, []).append(source)
        self.shape += source.columns or ()

    def take(self, within: "Scope") -> None:
        """Bring what was joined by itself into sight."""
        shape = [*self.shape, *within.shape]
        for source in within.sources:
            self.add(source)
        self.shape = shape
        self.merged |= within.merged
        self.is_shaped = self.is_shaped and within.is_shaped

    def forget(self, count: int) -> None:
        """Take the sources from that place on out of sight."""
        for source in self.sources[count:]:
            self.named[source.name].remove(source)
        del self.sources[count:]

    def add_alias(self, name: str, value: Value) -> None:
        key = fold(name)
        known = self.aliases.get(key)
        if known is None:
            self.aliases[key] = value
        elif known[1:] != value[1:]:
            self.aliases[key] = either([known, value])

    def source(self, name: str) -> Source | None:
        """The source of that name here, the first if there are several."""
        return next(iter(self.named.get(fold(name), ())), None)

    def has(self, column: str) -> list[Source]:
        """The sources here that surely have the column."""
        key = fold(column)
        return [source for source in self.sources if key in source.by_key]

    @property
    def is_open(self) -> bool:
        return any(source.is_open for source in self.sources)

    @property
    def columns(self) -> Outputs:
        """All that is in sight, as `*` has it."""
        is_known = self.is_shaped and all(source.columns is not None for source in self.sources)
        return tuple(self.shape) if is_known else None

    def around(self) -> "list[Scope]":
        """This scope and those around it, innermost first."""
        found: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            found.append(scope)
            scope = scope.parent
        return found

    def column_names(self) -> Iterator[str]:
        """Every column in sight, for hints; one by one, as there may be very many. One name may come several times."""
        for scope in self.around():
            yield from names_of(scope.sources)


def names_of(sources: Iterable[Source]) -> Iterator[str]:
    """The columns of sources, for hints."""
    for source in sources:
        for column in source.by_key.values():
            if column.name:
                yield column.name


class Reads:
    """What was read so far: relation → columns, as their relation spells them."""

    def __init__(self, relations: Mapping[str, Mapping[str, str | None]]) -> None:
        self.relations = relations
        self.found: dict[str, set[str]] = {}

    def relation(self, key: str) -> None:
        self.found.setdefault(key, set())

    def column(self, source: Source, name: str) -> None:
        if source.relation is None:
            return
        known = source.by_key.get(fold(name))
        self.found.setdefault(source.relation, set()).add(known.name if known and known.name else name)

    def everything(self, source: Source) -> None:
        if source.relation is None:
            return
        columns = self.found.setdefault(source.relation, set())
        if source.columns is None:
            columns.add(ALL_COLUMNS)
        else:
            columns.update(column.name for column in source.columns if column.name is not None)
