"""What the walk for lineage keeps: values with their sources, names in sight, and what decides a block's rows."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.repeatable import Number, together

Sources = frozenset[tuple[str, str]]
"""Pairs (relation, column), folded. A function of the pipeline's own is a pair, too (`CALLED`, name)."""

CALLED: Final = "()"
"""Stands for the relation of what is no column but a function; no relation has such a name."""


class Beyond(Exception):
    """The walk does not surely know what it met. Never leaves the modules of lineage."""


class Value(NamedTuple):
    """A value: the columns that reach it, whether it is repeatable, whether it is surely an exact number."""

    sources: Sources
    repeatable: bool
    number: Number | None


CONSTANT: Final = Value(frozenset(), True, None)
Column = tuple[str | None, Value]
"""An output column of a block; its name is None where Spark makes one up."""


def united(values: Iterable[Value]) -> Value:
    """A value that may be any of these, or is made of all of them."""
    found = list(values)
    if len(found) == 1:
        return found[0]
    sources: set[tuple[str, str]] = set()
    repeatable = True
    for value in found:
        sources |= value.sources
        repeatable = repeatable and value.repeatable
    return Value(frozenset(sources), repeatable, together(value.number for value in found))


@dataclass(frozen=True, slots=True)
class Block:
    """What a query block gives: its columns, the sources of its rows, whether its rows are repeatable."""

    columns: tuple[Column, ...]
    rows: Sources
    repeatable: bool

    def whole(self) -> Value:
        """Everything that this block is made of, as one value: what a subquery brings into an expression."""
        value = united([*(value for _, value in self.columns), Value(self.rows, self.repeatable, Number.NULL)])
        return value if len(self.columns) == 1 else value._replace(number=None)


class Source:
    """One item of FROM: its folded name and its columns."""

    __slots__ = ("by_key", "columns", "has_unnamed", "name")

    def __init__(self, name: str | None, columns: tuple[Column, ...]) -> None:
        self.name = name
        self.columns = columns
        self.by_key: dict[str, Value] = {}
        self.has_unnamed = False
        for column, value in columns:
            if column is None:
                self.has_unnamed = True
                continue
            key = fold(column)
            self.by_key[key] = united([self.by_key[key], value]) if key in self.by_key else value


@dataclass(slots=True)
class Rows:
    """What decides the rows of the block under way."""

    sources: set[tuple[str, str]] = field(default_factory=set)
    repeatable: bool = True

    def add(self, value: Value) -> None:
        self.sources |= value.sources
        self.repeatable = self.repeatable and value.repeatable

    def add_block(self, block: Block) -> None:
        self.sources |= block.rows
        self.repeatable = self.repeatable and block.repeatable


@dataclass(slots=True)
class Scope:
    """The names in sight of one block.

    `shape` are the columns of `*`, in order. `aliases` are names of the select list so far; `is_relaxed`: the clauses after
    the select list are read, where a name may mean either. `parameters` are those of a lambda.
    """

    parent: "Scope | None"
    rows: Rows
    sources: list[Source] = field(default_factory=list)
    shape: list[Column] = field(default_factory=list)
    aliases: dict[str, Value] = field(default_factory=dict)
    is_relaxed: bool = False
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    named: dict[str | None, list[Source]] = field(default_factory=dict)

    def add(self, source: Source) -> None:
        self.sources.append(source)
        self.named.setdefault(source.name, []).append(source)
        self.shape += source.columns

    def forget(self, count: int) -> None:
        """Take the sources from that place on out of sight."""
        for source in self.sources[count:]:
            self.named[source.name].remove(source)
        del self.sources[count:]

    def add_alias(self, name: str, value: Value) -> None:
        key = fold(name)
        self.aliases[key] = united([self.aliases[key], value]) if key in self.aliases else value
