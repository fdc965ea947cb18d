"""The vocabulary of change: closed sums, each value saying what changed and nothing of what to do about it.

Pairs are always `applied, desired`. Names are spelled as in the desired definition, else as applied.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from reconciler.base.declarations import ViewKind
from reconciler.base.digest import JsonObject
from reconciler.connectors.transport import Direction


class RelationKind(StrEnum):
    """What a changed relation is. LOCAL views are no part of a diff, but their changes flow through."""

    TABLE = "table"
    VIEW = "view"


class Action(StrEnum):
    """What happened to a relation or connector or function."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"


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


class Fate(StrEnum):
    """What becomes of the rows of a relation that is modified."""

    RECOMPUTED = "recomputed"
    """A view's: they are computed anew."""
    CLEARED = "cleared"
    """A table's: they are deleted, and read in again."""
    EVOLVED = "evolved"
    """A table's: they are kept, and written anew under the new columns."""
    EXTENDED = "extended"
    """A table's: they stay as they are; new columns are NULL in them."""
    KEPT = "kept"
    """They stay as they are."""


@dataclass(frozen=True, slots=True)
class RelationChange:
    """One table or view that differs. `causes` is empty for what is added or removed, `fate` None for these too;
    `renamed_from` is its applied name where that is another."""

    action: Action
    kind: RelationKind
    name: str
    causes: tuple[Cause, ...] = ()
    fate: Fate | None = None
    renamed_from: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """One function that differs. `causes` say in words what of it: signature, body, an imported module's path, …"""

    action: Action
    name: str
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spared:
    """A view that reads a changed relation and stays as it is all the same: of `relation` the `columns` changed, sorted,
    and neither its rows nor what it reads depends on them. No columns: no value of the relation changed, only how it is kept
    or named. `computed_again` are further columns that nothing changed: the relation is computed anew, and they need not
    come out the same."""

    view: str
    relation: str
    columns: tuple[str, ...]
    computed_again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """Something written down that changes no meaning: told, never approved. `subject` is a relation, a column
    (`relation.column`), a connector or the pipeline; `what` says which part of it (`description`, `comment`). The values are
    given where they are short and matter."""

    subject: str
    what: str
    applied: str | None = None
    desired: str | None = None


class Safeguard(StrEnum):
    """What decides how later plans are judged, how long rows stay, or which rows arrive and are sent, as pipeline.yaml calls
    it."""

    BOOTSTRAP_POLICY = "bootstrap_policy"
    PROTECTION = "protect"
    EVOLUTION = "evolution"
    RETENTION = "retention"
    USED_BY = "used_by"
    MAX_REJECTED = "max_rejected"
    ON_BOOTSTRAP = "on_bootstrap"
    PAUSED = "paused"
    START_AFTER = "start_after"


@dataclass(frozen=True, slots=True)
class SafeguardLoosened:
    """A safeguard that keeps less from happening than it did (`diff.safeguards`): approved as any change of meaning is.
    `subject` is a relation, a connector or the pipeline."""

    safeguard: Safeguard
    subject: str
    applied: str
    desired: str


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """One setting of a connector that differs, by its path (`transport.config.uri`). Values are absent when secret."""

    path: str
    applied: str | None
    desired: str | None


@dataclass(frozen=True, slots=True)
class ConnectorChange:
    """One connector that differs. `name` is qualified: `relation.connector`. `address` is where its rows come from or go to,
    `applied_address` where they did, as far as that may be shown (`connectors.catalogue.told_address`)."""

    action: Action
    direction: Direction
    name: str
    differences: tuple[SettingDifference, ...] = ()
    renamed_from: str | None = None
    address: str | None = None
    applied_address: str | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """Two snapshots compared. Relations, connectors and functions are sorted by their names; `local_views` are the LOCAL
    views that changed (folded), which readers never see by themselves. `metadata_changed` says that what is written
    differs although its meaning does not, `metadata` as far as it can be told what; `spared` are the views that stay as
    they are although they read something that changed, sorted, `local_spared` the LOCAL ones, which no plan shows.
    `loosened` are the safeguards that keep less from happening, sorted.
    `local_changes` are the changes of LOCAL views with their causes, for whoever reviews; they need no approval of their
    own, as whatever they change is changed in their readers."""

    relations: tuple[RelationChange, ...]
    connectors: tuple[ConnectorChange, ...]
    local_views: Mapping[str, Action] = field(default_factory=dict)
    metadata_changed: bool = False
    functions: tuple[FunctionChange, ...] = ()
    spared: tuple[Spared, ...] = ()
    metadata: tuple[MetadataChange, ...] = ()
    local_spared: tuple[Spared, ...] = ()
    local_changes: tuple[RelationChange, ...] = ()
    loosened: tuple[SafeguardLoosened, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is changed that anybody has to agree to: no relation, connector, function or safeguard."""
        return self.keeps_meaning and not self.loosened

    @property
    def keeps_meaning(self) -> bool:
        """Whether nothing is changed that anybody can see: no relation, connector or function."""
        return not self.relations and not self.connectors and not self.functions


def names_of(diff: Diff, action: Action, kind: RelationKind) -> tuple[str, ...]:
    """The names of relations of one kind with one action, sorted."""
    return tuple(sorted(c.name for c in diff.relations if c.action is action and c.kind is kind))


def approval_diff(diff: Diff) -> JsonObject:
    """The seed's diff object, member for member (`deployment_runtime_status_details`). Functions and safeguards, which the
    seed does not know there, stand in it where any changed: it is empty only where nothing has to be approved."""

    def connectors(action: Action, direction: Direction) -> list[str]:
        return sorted(c.name for c in diff.connectors if c.action is action and c.direction is direction)

    program = {
        f"{action.value}_{kind.value}s": list(names_of(diff, action, kind)) for kind in RelationKind for action in Action
    }
    found: dict[str, object] = {
        f"{action.value}_{direction.value}_connectors": connectors(action, direction)
        for action in Action
        for direction in Direction
    }
    if diff.functions:
        program |= {f"{action.value}_functions": _functions(diff, action) for action in Action}
    if diff.loosened:
        found["loosened_safeguards"] = [f"{one.safeguard.value} of {one.subject}" for one in diff.loosened]
    return found | {"program_diff": program, "program_diff_error": None}


def _functions(diff: Diff, action: Action) -> list[str]:
    return sorted(change.name for change in diff.functions if change.action is action)
