"""The program: the compiled manifest, an immutable DAG of tables, views and connectors.

Names are resolved, reads are known, canonical texts are computed by the running version. Everything is sorted by folded
name, so two programs that mean the same are equal whatever the order of files and statements.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import (
    ColumnDeclaration,
    ConnectorDeclaration,
    Evolution,
    ForeignRelation,
    FunctionDeclaration,
    Move,
    RelationKind,
    Settings,
    TableDeclaration,
    ViewDeclaration,
    ViewKind,
)
from reconciler.base.digest import JsonObject
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.sql.lineage import Lineage
from reconciler.sql.spelling import Spelling

if TYPE_CHECKING:
    from reconciler.streams.model import Transformation
    from reconciler.streams.queries import Input


@dataclass(frozen=True, slots=True)
class Read:
    """What a view reads of one relation: its name (`pipeline.name` of another pipeline's) and the columns used, as the
    relation spells them, sorted by key."""

    relation: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The declaration is complete; nothing is inferred."""

    declaration: TableDeclaration

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def columns(self) -> tuple[ColumnDeclaration, ...]:
        return self.declaration.columns

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.declaration.columns)

    @property
    def primary_key(self) -> tuple[str, ...]:
        return self.declaration.primary_key

    @property
    def relation_kind(self) -> RelationKind:
        return RelationKind.TABLE

    @property
    def kind_words(self) -> str:
        """What it is, as a user calls it."""
        return "table"

    @property
    def reads(self) -> tuple[Read, ...]:
        """Nothing: rows come from outside."""
        return ()

    @property
    def is_stored(self) -> bool:
        """Whether it has a Delta table of its own."""
        return True

    @property
    def is_local(self) -> bool:
        """Whether only its own pipeline sees it."""
        return False


@dataclass(frozen=True, slots=True)
class Function:
    """A function that views call. `calls` are the keys of the pipeline's functions that its SQL body calls: folded names, or
    those of recorded versions (`tax@v0`)."""

    declaration: FunctionDeclaration
    calls: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.declaration.name


@dataclass(frozen=True, slots=True)
class SpelledNames:
    """What decides how Spark spells the names of a view's columns, where these are not known (`program.written_names`): the
    query's text with the letter case of names, and the columns of what it reads, by key, as far as they are known."""

    text: str
    columns: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Clock:
    """What moves a stream's watermark: the event time of a table's rows, as the stream of that key (`assigned`) gives it in
    `column`. The watermark follows the greatest one by `delay` microseconds; that is the delay which the stream `assigned`
    declares, and by how much streams on the way hold the watermark back. `table` is the key of the table. `idle_after`:
    so far it may be behind the furthest clock of a stream, in microseconds; None: however far. `per`: of each value of these
    columns the greatest event time counts, and of those the least (None: of all rows); a value is idle as a clock is."""

    assigned: str
    table: str
    column: str
    delay: int
    idle_after: int | None = None
    per: tuple[str, ...] | None = None

    def least(self, by_value: Mapping[str, int]) -> int | None:
        """How far event time has come for all values of `per`, where it came as far as this for each. None: for none."""
        furthest = max(by_value.values(), default=None)
        if furthest is None:
            return None
        idle = min(by_value.values()) if self.idle_after is None else furthest - self.idle_after
        return min(max(one, idle) for one in by_value.values())


@dataclass(frozen=True, slots=True)
class Stream:
    """What a stream does (`streams.model`). `inputs` are the relations that it reads, as its SQL knows them; `bases` are the
    keys of the stored relations that give the rows of each, and `clocks` move its watermark together: the least one counts.
    `remembers`: it has state, and a table of its own. `event_time` is the column of its rows that has their event time.
    `expressions` are those that its author wrote. `keeps_late`: rows that come too late go to the dead letters."""

    transformation: "Transformation"
    inputs: "tuple[Input, ...]"
    bases: tuple[str, ...]
    clocks: tuple[Clock, ...]
    event_time: str
    remembers: bool
    expressions: tuple[str, ...] = ()
    keeps_late: bool = False

    def watermark(self, greatest: Mapping[str, int]) -> int | None:
        """The watermark, in microseconds since 1970, where event times came as far as `greatest` says by `Clock.assigned`.
        None while an input has none."""
        found = {clock: greatest[clock.assigned] - clock.delay for clock in self.clocks if clock.assigned in greatest}
        furthest = max(found.values(), default=None)
        marks = []
        for clock in self.clocks:
            of_idle = None if furthest is None or clock.idle_after is None else furthest - clock.idle_after
            known = [one for one in (found.get(clock), of_idle) if one is not None]
            if not known:
                return None
            marks.append(max(known))
        return min(marks, default=None)


@dataclass(frozen=True, slots=True)
class View:
    """A view. `canonical` is its query's canonical text, `reads` what it reads (sorted by relation), `column_names`
    its output columns in order (empty when they can't be known without Spark), `lineage` where each comes from (None:
    from anything that is read), `calls` the keys of the pipeline's functions that it calls, sorted (as in `Function`).
    `has_output`: a connector writes out what changes in it. `joins_crosswise`: its query surely joins each row with each.
    `spelled_names`: what decides the names of its columns, where an output may write them and only Spark knows them.
    `stream`: what it does, where it is one that could be compiled."""

    declaration: ViewDeclaration
    canonical: str
    reads: tuple[Read, ...]
    column_names: tuple[str, ...]
    lineage: Lineage | None = None
    calls: tuple[str, ...] = ()
    has_output: bool = False
    joins_crosswise: bool = False
    spelled_names: SpelledNames | None = None
    stream: Stream | None = None

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def kind(self) -> ViewKind:
        return self.declaration.kind

    @property
    def query(self) -> str:
        return self.declaration.query

    @property
    def is_stored(self) -> bool:
        """Whether the view has a Delta table of its own. Plain and LOCAL views are computed where they are read, but for
        those with an output: what changes in them can only be told from what they held before. So are streams that remember
        nothing."""
        if self.stream is not None and self.stream.remembers:
            return True
        kind = self.declaration.kind
        return kind is ViewKind.MATERIALIZED or (self.has_output and kind is not ViewKind.LOCAL)

    @property
    def is_local(self) -> bool:
        """Whether only its own pipeline sees it."""
        return self.declaration.kind is ViewKind.LOCAL

    @property
    def relation_kind(self) -> RelationKind:
        return RelationKind.STREAM if self.kind is ViewKind.STREAM else RelationKind.VIEW

    @property
    def kind_words(self) -> str:
        """What it is, as a user calls it."""
        return "stream" if self.kind is ViewKind.STREAM else f"{self.kind.value} view"


Relation: TypeAlias = Table | View
"""What has a name and columns, and may be read. All have `name`, `declaration`, `column_names`, `reads`, `relation_kind`,
`kind_words`, `is_stored` and `is_local`; whoever needs to know more matches on it, ending in `assert_never`."""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector with its name settled. Identity: (relation, name), case-insensitive."""

    declaration: ConnectorDeclaration
    name: str
    direction: Direction

    @property
    def relation(self) -> str:
        return self.declaration.relation

    @property
    def settings(self) -> JsonObject:
        return self.declaration.settings

    @property
    def transport(self) -> str:
        return str(self.declaration.settings["transport"]["name"])

    @property
    def qualified_name(self) -> str:
        """`relation.name`, as shown in plans and used as key of positions (folded)."""
        return f"{self.declaration.relation}.{self.name}"


@dataclass(frozen=True)
class Program:
    """One compiled pipeline. Mappings are keyed by folded names; `order` lists the folded names of all relations,
    each after everything it reads, ties by name. `spelling` says what of the spelling of its texts is meaning. `moves` are
    the renames that the author declares; they say how this program came to be and are no part of what it means. `foreign`
    are the relations of other pipelines that views read, by key (`pipeline.name`, folded); they have no place in `order`."""

    settings: Settings
    tables: Mapping[str, Table]
    views: Mapping[str, View]
    connectors: Mapping[str, Connector]
    order: tuple[str, ...] = field(default=())
    spelling: Spelling = Spelling.EVENED_OUT
    functions: Mapping[str, Function] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    foreign: Mapping[str, ForeignRelation] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def names_are_data(self) -> bool:
        """Whether the letter case of names can reach rows somewhere in the program (`sql.spelling`), so that names spelled
        otherwise are other names."""
        return self.spelling is not Spelling.EVENED_OUT

    def evolution_of(self, table: str) -> Evolution:
        """What becomes of the table's rows when its columns change."""
        return self.settings.table_evolution.get(fold(table), self.settings.evolution)

    @cached_property
    def relations(self) -> Mapping[str, Relation]:
        """All relations by folded name."""
        return {**self.tables, **self.views}

    def relation(self, name: str) -> Relation | None:
        """The relation of that name, if any."""
        return self.relations.get(fold(name))

    def is_stored(self, key: str) -> bool:
        """Whether there is a relation of that folded name with a Delta table of its own."""
        relation = self.relations.get(key)
        return relation is not None and relation.is_stored

    def written_name(self, key: str) -> str:
        """The name of a table, view or function (`kind:folded name`) as its author wrote it; what is not there, folded."""
        kind, _, name = key.partition(":")
        found = self.functions.get(name) if kind == "function" else self.relation(name)
        return found.name if found is not None else name


def empty_program(settings: Settings) -> Program:
    """A program with nothing in it: what is applied before the first apply, and desired when a folder is deleted."""
    return Program(settings, {}, {}, {})
