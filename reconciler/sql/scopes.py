"""Names within one query: what a FROM brings into sight, and where a column comes from.

Rules (Spark's): a column is looked for in the sources of its own block, then in the names of the select list, then in
the blocks around it. Columns joined by USING or NATURAL are one column. A source whose columns are not known (`OPEN`)
may have any: nothing is said against a name that could be one of its columns.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.base.names import fold

ALL_COLUMNS = "*"
"""Stands among the columns of a read for: whichever there are."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column that a query block gives: its name (None: Spark makes one up) and type (None: not known)."""

    name: str | None
    type: str | None


@dataclass(slots=True)
class Source:
    """One item of FROM. `columns` is None when they are not known; `relation` is the relation read, folded, if it is one."""

    name: str | None
    columns: tuple[Output, ...] | None
    relation: str | None = None
    by_key: dict[str, Output] = field(init=False)

    def __post_init__(self) -> None:
        self.by_key = {fold(column.name): column for column in self.columns or () if column.name is not None}

    @property
    def is_open(self) -> bool:
        return self.columns is None or any(column.name is None for column in self.columns)


@dataclass(slots=True)
class Scope:
    """The sources in sight, the names joined by USING, names of the select list, parameters of lambdas. A RIGHT
    JOIN by USING keeps the column on its right: `kept_as` says, by key, how that one is spelled."""

    parent: "Scope | None" = None
    sources: list[Source] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    natural: bool = False
    aliases: dict[str, str | None] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    kept_as: dict[str, str] = field(default_factory=dict)
    _named: dict[str | None, Source] = field(init=False, default_factory=dict)
    _counted: list[Source] = field(init=False, default_factory=list)

    def source(self, name: str) -> Source | None:
        """The source of that name here, the first if there are several."""
        count = len(self._counted)
        # Sources come and go at the end of the list, so those before a last one that is the same are the same.
        if count > len(self.sources) or (count and self.sources[count - 1] is not self._counted[-1]):
            self._named, self._counted, count = {}, [], 0
        for source in self.sources[count:]:
            self._named.setdefault(source.name, source)
            self._counted.append(source)
        return self._named.get(fold(name))

    def has(self, column: str) -> list[Source]:
        """The sources here that surely have the column."""
        key = fold(column)
        return [source for source in self.sources if key in source.by_key]

    @property
    def is_open(self) -> bool:
        return any(source.is_open for source in self.sources)

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
