"""Why a table or a view is another one: closed sums, each value saying what changed and nothing of what to do about it.

Pairs are always `applied, desired`. Names are spelled as in the desired definition, else as applied.
"""

from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import ViewKind


@dataclass(frozen=True, slots=True)
class ColumnAdded:
    """A table has a column that it did not have. `default` is what it gets in rows that come in without it; in rows that
    are there it is NULL."""

    column: str
    type: str
    nullable: bool = True
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnRemoved:
    """A table lost a column."""

    column: str
    type: str


@dataclass(frozen=True, slots=True)
class ColumnRenamed:
    """A column has another name, and its author says (`moved`) that it is the same one."""

    applied: str
    desired: str


@dataclass(frozen=True, slots=True)
class ColumnRetyped:
    """A column's declared type changed."""

    column: str
    applied: str
    desired: str


@dataclass(frozen=True, slots=True)
class NullabilityChanged:
    """NOT NULL was added to or removed from a column."""

    column: str
    applied: bool
    desired: bool


@dataclass(frozen=True, slots=True)
class ColumnsReordered:
    """The same columns stand in another order."""

    applied: tuple[str, ...]
    desired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrimaryKeyChanged:
    """The primary key constraint changed."""

    applied: tuple[str, ...]
    desired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertyChanged:
    """A table's `materialized` or `append_only` was added or removed."""

    property: str
    applied: bool
    desired: bool


@dataclass(frozen=True, slots=True)
class DefaultChanged:
    """The value that a column gets where none is given changed: rows that come in from now on. None: there is no default."""

    column: str
    applied: str | None
    desired: str | None


@dataclass(frozen=True, slots=True)
class LatenessChanged:
    """The bound on how late rows may come changed: it judges rows that come in from now on. None: there is no bound."""

    column: str
    applied: str | None
    desired: str | None


@dataclass(frozen=True, slots=True)
class RelationRenamed:
    """A table or view has another name, and its author says (`moved`) that it is the same one."""

    applied: str
    desired: str


@dataclass(frozen=True, slots=True)
class QueryChanged:
    """A view's query may mean something else than before. `columns` are the output columns that may hold other values,
    folded and sorted, when it surely gives the same rows but for these; None when any row may differ."""

    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class StreamChanged:
    """A stream's definition changed. `settings` are those that differ, by their paths (`window.tumbling`), each with what
    was written and what is (None: nothing), sorted. `goes_on`: the rows that it gave stay, and what it remembers serves the
    new definition; else both are computed anew, from the rows of its table."""

    settings: tuple[tuple[str, str | None, str | None], ...]
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class ColumnNamesChanged:
    """The list of names after a view's name changed."""

    applied: tuple[str, ...]
    desired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrittenNamesChanged:
    """Names of a view's columns, which an output writes as Spark spells them, may be spelled otherwise in letter case."""


@dataclass(frozen=True, slots=True)
class KindChanged:
    """MATERIALIZED (or LOCAL) was added to or removed from a view."""

    applied: ViewKind
    desired: ViewKind


@dataclass(frozen=True, slots=True)
class StorageChanged:
    """A plain view got its first output, or lost its last one, and is stored from now on, or no more; and to compute it
    again need not give the same. Where it does give the same, this is no change."""

    is_stored: bool


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Spark settings that decide results changed, or its version did: names, sorted, each with its values, or None where
    these are not to be shown."""

    settings: tuple[str, ...]
    values: tuple[tuple[str, str] | None, ...] = ()


MOST_OF_A_PATH: Final = 12


@dataclass(frozen=True, slots=True)
class Path:
    """Names from what is used to where a change began; the one name, where that is the same. Of a long path the first names
    and the last: `passed_over` is how many stand before the last one and are left out, so that a chain of thousands does
    not name thousands for each of its links."""

    names: tuple[str, ...]
    passed_over: int = 0

    def after(self, name: str) -> "Path":
        """The path that leads here from a name before it."""
        names = (name, *self.names)
        if len(names) <= MOST_OF_A_PATH:
            return Path(names, self.passed_over)
        return Path((*names[: MOST_OF_A_PATH - 1], names[-1]), self.passed_over + len(names) - MOST_OF_A_PATH)


@dataclass(frozen=True, slots=True)
class FunctionChanged:
    """A view calls a function that changed. `path` leads from the function called to the one that changed (itself, when
    it changed of its own); `is_new`: that one was not there before. `columns` are the output columns that are computed by
    it, folded and sorted, when it surely decides no rows; None when any row may differ."""

    function: str
    path: Path
    is_new: bool = False
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReadsChanged:
    """A view reads what is changed of a relation. `columns` are those read that may differ (all that are read, when any
    row may differ); `path` leads from that relation to the one where the change began (itself, when it changed of its
    own)."""

    relation: str
    columns: tuple[str, ...]
    path: Path
    origin: "Cause | None"


@dataclass(frozen=True, slots=True)
class MeaningChanged:
    """A relation of another pipeline means something else than it did, and nothing more is known of it here: what it meant
    can't be looked up any more."""


TableCause: TypeAlias = (
    ColumnAdded
    | ColumnRemoved
    | ColumnRenamed
    | ColumnRetyped
    | ColumnsReordered
    | NullabilityChanged
    | DefaultChanged
    | LatenessChanged
    | PrimaryKeyChanged
    | PropertyChanged
    | RelationRenamed
)
ViewCause: TypeAlias = (
    QueryChanged
    | StreamChanged
    | ColumnNamesChanged
    | WrittenNamesChanged
    | KindChanged
    | StorageChanged
    | SettingsChanged
    | FunctionChanged
    | ReadsChanged
    | RelationRenamed
)
Cause: TypeAlias = TableCause | ViewCause | MeaningChanged
