"""The manifest: one pipeline's declaration as written, before names are resolved.

A manifest says what its files say and no more: names keep their spelling, queries are text, connectors are JSON. It is
what the registry stores of an applied program (definitions as written together with declared types), so that a newer
version of reconciler reads both sides with the same eyes. Locations are for messages; they take no part in equality
and are absent from what comes out of the registry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Location
from reconciler.base.digest import JsonObject


class BootstrapPolicy(StrEnum):
    """What apply does with a plan that changes something (seed: modifying a pipeline, `bootstrap_policy`)."""

    AWAIT_APPROVAL = "await_approval"
    ALLOW = "allow"
    REJECT = "reject"


_STRICTNESS: Final = (BootstrapPolicy.ALLOW, BootstrapPolicy.AWAIT_APPROVAL, BootstrapPolicy.REJECT)


def stricter(policies: Iterable[BootstrapPolicy]) -> BootstrapPolicy:
    """The strictest of some policies, at least one."""
    return max(policies, key=_STRICTNESS.index)


class RelationKind(StrEnum):
    """What a relation is: rows come to a table from outside, a view's are computed, a stream's are added to from step to
    step."""

    TABLE = "table"
    VIEW = "view"
    STREAM = "stream"


class ViewKind(StrEnum):
    """`CREATE VIEW`, `CREATE LOCAL VIEW`, `CREATE MATERIALIZED VIEW`; and a stream of pipeline.yaml."""

    PLAIN = "plain"
    LOCAL = "local"
    MATERIALIZED = "materialized"
    STREAM = "stream"


class Evolution(StrEnum):
    """What becomes of a table's rows when its columns change: they go (the seed's rule), or they are kept where that is
    possible."""

    CLEAR = "clear"
    EVOLVE = "evolve"


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """A column of a table. `type` is canonical, as given by `sql.types` (`DECIMAL(15,2)`, `VARCHAR(44)`, `STRING`).

    `default` is the canonical text of the expression after DEFAULT, `lateness` that of the interval or number after
    LATENESS, `comment` the text after COMMENT; None where there is none.
    """

    name: str
    type: str
    nullable: bool = True
    location: Location | None = field(default=None, compare=False)
    default: str | None = None
    lateness: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """`CREATE TABLE`. `sql` is the statement as written, without the final semicolon."""

    name: str
    columns: tuple[ColumnDeclaration, ...]
    primary_key: tuple[str, ...]
    materialized: bool
    append_only: bool
    sql: str
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ViewDeclaration:
    """`CREATE [LOCAL | MATERIALIZED] VIEW`. `query` is the text after AS, as written; `column_names` is the optional
    list after the name; `query_location` is where the query's first character stands. `functions` are those that the query
    calls and that are not the pipeline's of today: folded name as called → key of a recorded version (`tax@v0`), sorted. No
    file says that.

    A stream is a view that SQL did not declare. `stream` is its definition (`streams.reading`); its query is written when
    the program is compiled, and is empty before."""

    name: str
    kind: ViewKind
    column_names: tuple[str, ...]
    query: str
    sql: str
    location: Location | None = field(default=None, compare=False)
    query_location: Location | None = field(default=None, compare=False)
    functions: tuple[tuple[str, str], ...] = ()
    stream: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class StreamDeclaration:
    """An entry of `spec.streams`: a stateful transformation. `definition` is {kind: settings} as `streams.reading` writes
    it: without what is default anyway, durations as their author wrote them. `locations` are the places of its parts, by
    their paths in pipeline.yaml as words: `deduplicate.keys[0]`, `running_aggregate.aggregates.hot`."""

    name: str
    definition: JsonObject
    location: Location | None = field(default=None, compare=False)
    locations: Mapping[str, Location] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """A parameter of a function; `type` is canonical."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class SqlBody:
    """`CREATE FUNCTION … AS expression`: the expression as written."""

    expression: str


@dataclass(frozen=True, slots=True)
class PythonBody:
    """A function written in Python in the pipeline's `udf/` folder.

    `module` is the dotted name of the module below `udf/` that defines the function; `sources` maps the paths (below
    `udf/`) of this module and of every module of that folder which it imports, directly or not, to their texts;
    `requirements` are the declared requirements, sorted; `python` is the minor version of Python that it is written for.
    `gives_null_on_error`: where a call of it fails, it gives NULL, and the view goes on.
    """

    module: str
    sources: Mapping[str, str]
    requirements: tuple[str, ...] = ()
    python: str = ""
    gives_null_on_error: bool = False


FunctionBody: TypeAlias = SqlBody | PythonBody


@dataclass(frozen=True, slots=True)
class FunctionDeclaration:
    """`CREATE FUNCTION name(a INT, b STRING) RETURNS INT [NOT NULL] [AS expression]`.

    One in Python is presumed not deterministic unless pipeline.yaml says otherwise, one in SQL is what it calls. `sql` is
    the statement as written, `body_location` where the expression of a SQL body begins. A recorded version that old versions
    of views go on calling is named `tax@v0`; `functions` are those that it calls itself, as in a view.
    """

    name: str
    parameters: tuple[ParameterDeclaration, ...]
    returns: str
    body: FunctionBody
    deterministic: bool
    sql: str
    location: Location | None = field(default=None, compare=False)
    returns_nullable: bool = True
    description: str = ""
    body_location: Location | None = field(default=None, compare=False)
    functions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """One entry of `spec.moved`: what was called `source` is now called `target`. Each is `relation`, or
    `relation.part` where the part is a column or a connector."""

    source: str
    target: str
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ConnectorDeclaration:
    """A connector of a table (input) or view (output), from YAML or from `WITH ('connectors' = …)`.

    `settings` is the connector's JSON object without `name`, `table` and `view`: {transport: {name, config}, format?,
    labels?, start_after?, paused?, …}, variables resolved, secrets still `${secret:NAME}`. `name` is None when the
    author gave none; `ordinal` counts the connectors of one relation from 0 in order of declaration (SQL before YAML).
    """

    relation: str
    name: str | None
    ordinal: int
    settings: JsonObject
    location: Location | None = field(default=None, compare=False)


DEFAULT_CHECKPOINT_INTERVAL: Final = 60
DEFAULT_STEPS_SECONDS: Final = 7 * 86400
"""Seconds."""
FIRST_SPARK: Final = "4.2.0"
"""The version of Spark of programs that recorded none: there was no other when they were applied."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The number of the version that an object is to have. `written`: how the files defined it beside the pin, as stored,
    where that meant something else; known once the pin was looked up."""

    number: int
    written: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """An object that was rolled back: `number` is the version that it has instead of what the files say (None: it is not
    there), `written` its definition as the files had it then, as stored (None: they had none)."""

    number: int | None
    written: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is not active any more stays readable; times in seconds. None: nothing is said of it.

    `versions`: so many versions of an object that were active last, beside the active one; `keep`: those that were active
    within this time. Either is enough; where neither is said, all are kept. `steps`: how long a step can be read once the
    next one is there; `checkpoints`: how long one that somebody named can be restored. The last two are of a pipeline only.
    """

    versions: int | None = None
    keep: int | None = None
    steps: int | None = None
    checkpoints: int | None = None

    @property
    def words(self) -> str:
        """What it says, as in pipeline.yaml."""
        times = {"keep": self.keep, "steps": self.steps, "checkpoints": self.checkpoints}
        said = {"versions": self.versions, **{key: None if one is None else duration(one) for key, one in times.items()}}
        return ", ".join(f"{key}: {value}" for key, value in said.items() if value is not None) or "none"


def duration(seconds: int) -> str:
    """Seconds in the largest unit that says them whole: 90s, 2h, 30d."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


@dataclass(frozen=True, slots=True)
class Settings:
    """`metadata` and `spec` of pipeline.yaml, less what became declarations.

    `spark` holds `runtime.spark` and `runtime.shuffle_partitions` (setting name → text). `workers`, `memory` and
    `driver_memory` are those of `runtime`, as Spark takes them, None where the environment decides. `evolution` is that of
    all tables but those of `table_evolution` (folded name → its own); `protected` are the folded names of protected
    relations, sorted. `version_reads`: queries may read versions that are not active.
    `pins` say which versions tables and views (folded) are to have, whatever their SQL says, `function_pins` the same of
    functions; `maintained` which versions of views are kept up to date beside that, by number, sorted.
    `used_by` names who reads a relation (folded) from outside, in the author's words, sorted. `traded` are the columns that
    trade names (`trades`): where they are applied, they have done so. `held` are the objects that were rolled back, by
    `kind:folded name`: no file says that, it is kept with what is applied. `retention` is that of the pipeline; a relation
    (folded) of `relation_retention` has its own `versions` and `keep` instead.

    Two parts come from where a program is compiled, not from its files. `spark_version` is that of the Spark that computes
    its views. `environment` holds those of the environment's settings of Spark that come into force with an apply only
    (name → text); None of a program that was applied before they were recorded. Of those whose value may be secret, `sealed`
    holds the seal instead (`spark_values`).
    """

    name: str
    description: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    bootstrap_policy: BootstrapPolicy = BootstrapPolicy.AWAIT_APPROVAL
    workers: int | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    evolution: Evolution = Evolution.CLEAR
    table_evolution: Mapping[str, Evolution] = field(default_factory=dict)
    protected: tuple[str, ...] = ()
    memory: str | None = None
    driver_memory: str | None = None
    checkpoint_interval_seconds: int = DEFAULT_CHECKPOINT_INTERVAL
    version_reads: bool = False
    pins: Mapping[str, Pin] = field(default_factory=dict)
    function_pins: Mapping[str, Pin] = field(default_factory=dict)
    maintained: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    used_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    traded: tuple[tuple[tuple[str, str], ...], ...] = ()
    held: Mapping[str, Held] = field(default_factory=dict)
    retention: Retention = Retention()
    relation_retention: Mapping[str, Retention] = field(default_factory=dict)
    spark_version: str = FIRST_SPARK
    environment: Mapping[str, str] | None = None
    sealed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignRelation:
    """A table or materialized view of another pipeline that this one reads, as far as it has to be known here; or a
    `version` of one, be it of this very pipeline (`is_own`).

    `columns` are its columns in order with their types where they are declared. `meaning` is the digest of what it means,
    with all that it is computed from in its pipeline; `record` names the definitions of that pipeline which were looked at,
    for comparing. `names_are_data`: the letter case of names can reach its rows.
    """

    pipeline: str
    name: str
    kind: str
    columns: tuple[tuple[str, str | None], ...]
    meaning: str
    record: str
    names_are_data: bool = False
    version: int | None = None
    is_own: bool = False

    @property
    def qualified_name(self) -> str:
        """`pipeline.name`, `pipeline.name@v2` or `name@v2`, as queries write it."""
        name = self.name if self.is_own else f"{self.pipeline}.{self.name}"
        return name if self.version is None else f"{name}@v{self.version}"

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One pipeline as written. Declarations stand in no particular order; `program.compile` orders them. `foreign` is what
    is known of other pipelines' relations: nothing that its author wrote, so it comes from whoever has looked."""

    settings: Settings
    tables: tuple[TableDeclaration, ...]
    views: tuple[ViewDeclaration, ...]
    connectors: tuple[ConnectorDeclaration, ...]
    location: Location | None = field(default=None, compare=False)
    functions: tuple[FunctionDeclaration, ...] = ()
    moves: tuple[Move, ...] = ()
    foreign: tuple[ForeignRelation, ...] = ()
    streams: tuple[StreamDeclaration, ...] = ()
    unread_streams: tuple[StreamDeclaration, ...] = ()
    """Streams that are declared, but whose definition can't be read: what is wrong with each is told by itself."""
