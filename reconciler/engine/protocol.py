"""What the shell asks of an engine: the heavy work, one call each, every call repeatable.

The engine computes; it decides nothing. It never chooses a version ("current"): every table it reads is named with the
Delta version to read. It publishes nothing: a view's rows are written as a Delta table of their own in a staging folder,
and the shell makes them visible in one commit (`delta.publishing.publish`). Calls are idempotent by what they are given:
a staging folder that is complete is not built again, a write marked with a transaction that its table has is skipped.

Two implementations share the tests in tests/engine/contract.py: `engine.spark` and `testing.recording`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.engine.sources import FunctionSource, LinkedSource, Source, StoredSource
from reconciler.engine.stored import Between as Between
from reconciler.engine.stored import ColumnType as ColumnType
from reconciler.engine.stored import FailedCalls as FailedCalls
from reconciler.engine.stored import Transaction as Transaction
from reconciler.project.program.lateness import Number

Check = Callable[[], None]
"""Raises where another process has taken over what this one works on: then this one writes nothing more."""


def unchecked() -> None:
    """The check where nobody takes over."""


@dataclass(frozen=True, slots=True)
class BuiltAtOnce:
    """Another view that may be computed with one: what is needed for it is at hand then. `query` gives the columns of the
    first view, which are to have these names, then those of the other one, and at last whether the row is one of that. It
    reads what the query of the first view reads. `staging` and `column_names` are as for `ViewBuild`."""

    query: str
    names: tuple[str, ...]
    staging: str
    column_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewBuild:
    """Compute a view and write it as a Delta table at `staging` (its version 0 is the whole result).

    `sources` holds everything that the query reads, directly or through inline sources, each after what it reads itself.
    `settings` are the Spark SQL settings that the pipeline declares (`spark.sql.ansi.enabled` …). `functions` are those that
    the query and inline sources call, each after what it calls itself. `kind` is what a user calls it: view, or stream.

    `terms`: where the query is a sum of terms, what each of them reads. It gives the same where rows of a source are left
    out that no term needs, if it stands in any. Empty: nothing is known. `must_find`: rows to which terms lead are to be
    found by their keys. Where they are not, the build may fail (RowsNotFound), as to read all would cost too much.
    `rest_of`: a source whose rows to which no term leads are rows of the result as they are, and need not be given to the
    query. It is only read by the last of each term.

    `at_once`: another view that an engine may compute with this one, where it costs less than by itself (`Built.at_once`).
    `is_kept`: the result is what a step keeps for the next one, which nobody else reads.
    """

    view: str
    query: str
    column_names: tuple[str, ...]
    sources: tuple[Source, ...]
    staging: str
    settings: Mapping[str, str]
    functions: tuple[FunctionSource, ...] = ()
    kind: str = "view"
    terms: tuple[tuple[LinkedSource, ...], ...] = ()
    must_find: bool = False
    rest_of: str | None = None
    at_once: BuiltAtOnce | None = None
    is_kept: bool = False

    @property
    def shown(self) -> str:
        """What is computed, in messages."""
        return f"{self.kind} {self.view}"


@dataclass(frozen=True, slots=True)
class TableBuild:
    """Write a table's rows under other columns, as a Delta table at `staging` (its version 0 is the whole result).

    Each of `columns` gets the values of the column of `source` that `taken_from` names at its place, converted strictly (a
    value that does not fit is X712, a NULL in a NOT NULL column X713), or NULL where it names none.
    """

    table: str
    source: StoredSource
    columns: tuple[ColumnType, ...]
    taken_from: tuple[str | None, ...]
    staging: str


@dataclass(frozen=True, slots=True)
class Built:
    """What a build wrote. `reused` says that the staging folder was complete already and nothing was computed.
    `failed_calls` are those of functions that give NULL where they fail, sorted by their names; of what is
    reused, they are not known. `without_spark`: Spark computed the rows, and this process wrote them by itself, since there
    were few. `at_once`: what was written of the other view (None: it is to be built by itself)."""

    rows: int
    bytes: int
    columns: tuple[ColumnType, ...]
    reused: bool = False
    failed_calls: tuple[FailedCalls, ...] = ()
    without_spark: bool = False
    at_once: "Built | None" = None


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table to write to. `columns` have the types that are declared: text of bounded length is stored as a STRING, and a
    row with a longer one does not fit, at any depth. `primary_key` empty: a multiset, rows are appended and a delete takes
    one equal row; else rows replace or delete those of equal key. `append_only`: nothing may be deleted or replaced.
    `defaults`: what a column gets in rows that don't have it, by folded name, as a literal of Spark SQL; else it is NULL. A
    moment has its zone (`program.defaults`)."""

    name: str
    location: str
    columns: tuple[ColumnType, ...]
    primary_key: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    append_only: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Where records go that can't become rows: a Delta table at `location`, made when first needed, with the columns of
    `engine.dead_letters`. More than `limit` of them in one range stop the ingestion (X724), and nothing is written;
    None: any number goes there. `keeps_late`: so do records whose rows are late, which the limit does not count."""

    location: str
    step: int
    limit: int | None = None
    keeps_late: bool = False


@dataclass(frozen=True, slots=True)
class Ingestion:
    """Read exactly `range` (a value that `discover` returned) through a connector and write the rows to `target`.

    `settings` is the connector's JSON object (transport, format, columns), secrets still as references; `resolve_secrets` on
    the engine replaces them. A column takes the field that `columns` names, else that of its name. Missing ones get their
    defaults, else NULL where that may stand; fields that no column takes are left out, and counted.
    A record that does not become a row goes to `dead_letters`; where there are none, it stops the ingestion. `commit` is
    written with the table's commit, for whoever reads its history.

    `first_on_time` has by folded name the smallest value of a column that is not late. A record is left out, and counted, if
    one of its rows has a smaller one; of a row that is deleted by its key, only the key is looked at. NULL and NaN are never
    late.
    """

    target: TableTarget
    connector: str
    settings: JsonObject
    range: JsonObject
    transaction: Transaction
    dead_letters: DeadLetters | None = None
    commit: JsonObject = field(default_factory=dict)
    first_on_time: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Available:
    """What a connector has beyond a position: the range to read next, the position after it, and whether that is the
    end of the input (a snapshot ends, a folder may grow). `backlog` says how much there is by part of the input, where that
    is known: {part: number of records or files not yet read, this range among them}.

    `since` is when the oldest change of the range could first be seen at its source, `waiting_since` the same of all that is
    not yet read (`base.moments`). None: the source does not tell."""

    range: JsonObject
    position: JsonObject
    end_of_input: bool
    backlog: Mapping[str, int] = field(default_factory=dict)
    since: str | None = None
    waiting_since: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """An ad-hoc INSERT or DELETE on one table: INSERT INTO t [(columns)] VALUES … | SELECT …; DELETE FROM t [WHERE …].
    `first_on_time` is as in `Ingestion`, for rows that are inserted."""

    target: TableTarget
    sql: str
    sources: tuple[Source, ...]
    settings: Mapping[str, str]
    transaction: Transaction
    functions: tuple[FunctionSource, ...] = ()
    commit: JsonObject = field(default_factory=dict)
    first_on_time: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did. `version` is the table's Delta version that holds it; `rows` those read, inserted or deleted;
    `reused` says that the table had this transaction already and nothing was written. `rejected` counts the records that
    went to the dead letters, `unmatched` the deletes that found no row. `unknown` says of fields that no column takes in how
    many rows they came; `missing` are the fields that columns take and that a header or schema lacked. `without_spark`: this
    process did it by itself, since there was little to do. `late` counts the records that were left out since a row of
    theirs was late."""

    version: int
    rows: int
    reused: bool = False
    rejected: int = 0
    unmatched: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    without_spark: bool = False
    late: int = 0


@dataclass(frozen=True, slots=True)
class Emission:
    """Write through an output connector what changed in a view between two of its versions.

    `before` None: all rows of `after` are new. `replaces`: the sink is emptied first (`before` is then None). Both versions
    may have other columns; then the rows of `before` are deleted under theirs. `transaction` only rises for a sink: one that
    keeps it skips a repeat. `step` is the published step that `after` belongs to, `commit` is written with the sink's commit
    if it has such a thing. `warehouses` are those that are known: a sink within one is refused, as
    is one within any other that can be seen (X755).

    `id` tells a repeat from another emission that only has its number: a sink that skips repeats keeps it. One that has
    another one's under this number, or a later number, is left alone (X756). Where it is empty (an earlier version pinned
    it), the number alone tells.
    """

    connector: str
    view: str
    settings: JsonObject
    before: StoredSource | None
    after: StoredSource
    replaces: bool
    step: int
    transaction: Transaction
    commit: JsonObject = field(default_factory=dict)
    warehouses: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Emitted:
    """What an emission wrote: rows that came and rows that went. `reused`: the sink had it already. `dropped` counts rows
    that went and are still there for whoever reads the sink: it can't be told of them. `without_spark`: this process did it
    by itself, since there was little to do."""

    inserted: int
    deleted: int
    reused: bool = False
    dropped: int = 0
    without_spark: bool = False


@dataclass(frozen=True, slots=True)
class Vacuum:
    """Remove these files (paths relative to `location`) of a Delta table: Delta's VACUUM over an inventory. A file that the
    newest version names stays, and one that is gone already is no error. On an object store, folders in which nothing is
    left go with them. None at all: get ready for some."""

    location: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compaction:
    """Put the small files of a table together, which stands at a Delta version and has so many of them there."""

    location: str
    version: int
    small_files: int
    transaction: Transaction
    commit: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Bring rows to a table without a key and take others out of it, in one commit with the transaction. `staging` holds
    them, as a Delta table in version 0: each row once, in the columns of the table, and then how many copies of it come or,
    where that is negative, go. `version` is where the table stands: where somebody else wrote it since, nothing is done."""

    location: str
    version: int
    staging: str
    transaction: Transaction
    commit: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """An ad-hoc SELECT over pinned sources, each after what it reads. A name may come again: what stands before keeps what
    it read under it, the query and what follows read the later one."""

    sql: str
    sources: tuple[Source, ...]
    settings: Mapping[str, str]
    functions: tuple[FunctionSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """A result: columns, and rows as Python values in column order (Decimal, date, datetime … as Spark gives them)."""

    columns: tuple[ColumnType, ...]
    rows: Sequence[tuple[Any, ...]]

    def as_dictionaries(self) -> Iterator[dict[str, Any]]:
        """Each row as {column name: value}."""
        names = [column.name for column in self.columns]
        for row in self.rows:
            yield dict(zip(names, row, strict=True))


class Engine(Protocol):
    """See the module. Every method raises EngineError with the engine's own message when it refuses or fails."""

    def build_view(self, build: ViewBuild) -> Built:
        """Compute a view into its staging folder, unless that is complete."""
        ...

    def build_table(self, build: TableBuild) -> Built:
        """Write a table's rows under other columns into a staging folder, unless that is complete."""
        ...

    def discover(self, connector: str, settings: JsonObject, position: JsonObject | None) -> Available | None:
        """What an input connector has beyond `position` (None: nothing was read yet). None: nothing new."""
        ...

    def ingest(self, ingestion: Ingestion) -> Written:
        """Write one range of a connector to its table, once."""
        ...

    def execute(self, statement: Statement) -> Written:
        """Run an INSERT or DELETE, once."""
        ...

    def emit(self, emission: Emission, check: Check = unchecked) -> Emitted:
        """Write a view's changes through an output connector: once where the sink can tell, else at least once. What is to
        be written may take long to compute, so `check` is asked again just before anything of it is there."""
        ...

    def select(self, selection: Selection) -> Rows:
        """Run a SELECT and bring its rows to the driver."""
        ...

    def compact(self, compaction: Compaction) -> int | None:
        """Put small files of a table together, once, if they are many: the Delta version that has the same rows in fewer
        files, which is the next one. None: the table stays as it is, and that is never wrong."""
        ...

    def may_change_rows(self, location: str) -> bool:
        """Whether `change_rows` may do anything for the table there, as far as that is known before."""
        ...

    def change_rows(self, changes: RowChanges) -> int | None:
        """Bring and take rows, once: the Delta version that has it done. None: the table stays as it is, and what it should
        hold is to be computed. That is never wrong; it is so where the rows are not found at little cost, or not surely."""
        ...

    def vacuum(self, vacuum: Vacuum) -> None:
        """Remove files that a table has no use for any more."""
        ...

    def remove(self, location: str) -> None:
        """Delete a folder and all below it; nothing there is no error."""
        ...

    def interrupt(self) -> None:
        """Have what is being computed fail soon; whoever waits for it gets an EngineError. Another thread calls this."""
        ...

    def close(self) -> None:
        """Let go of what the engine holds; calls after this fail."""
        ...
