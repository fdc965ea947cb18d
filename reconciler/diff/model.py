"""The vocabulary of change: closed sums, each value saying what changed and nothing of what to do about it.

Pairs are always `applied, desired`. Names are spelled as in the desired definition, else as applied.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from reconciler.connectors.transport import Direction
from reconciler.digest import JsonObject
from reconciler.manifest.model import ViewKind


class RelationKind(StrEnum):
    """What a changed relation is. LOCAL views are no part of a diff, but their changes flow through."""

    TABLE = "table"
    VIEW = "view"


class Action(StrEnum):
    """What happened to a relation or connector."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ColumnAdded:
    """A table has a column that it did not have."""

    column: str
    type: str


@dataclass(frozen=True, slots=True)
class ColumnRemoved:
    """A table lost a column."""

    column: str
    type: str


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
class QueryChanged:
    """A view's query may mean something else than before."""


@dataclass(frozen=True, slots=True)
class ColumnNamesChanged:
    """The list of names after a view's name changed."""

    applied: tuple[str, ...]
    desired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KindChanged:
    """MATERIALIZED (or LOCAL) was added to or removed from a view."""

    applied: ViewKind
    desired: ViewKind


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Spark settings that decide results changed: names, sorted."""

    settings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadsChanged:
    """A view reads a relation that is changed. `columns` are those that it reads; `path` leads from that relation to the
    one where the change began (itself, when it changed of its own)."""

    relation: str
    columns: tuple[str, ...]
    path: tuple[str, ...]
    origin: "Cause | None"


TableCause: TypeAlias = (
    ColumnAdded | ColumnRemoved | ColumnRetyped | NullabilityChanged | ColumnsReordered | PrimaryKeyChanged | PropertyChanged
)
ViewCause: TypeAlias = QueryChanged | ColumnNamesChanged | KindChanged | SettingsChanged | ReadsChanged
Cause: TypeAlias = TableCause | ViewCause


@dataclass(frozen=True, slots=True)
class RelationChange:
    """One table or view that differs. `causes` is empty for what is added or removed."""

    action: Action
    kind: RelationKind
    name: str
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """One setting of a connector that differs, by its path (`transport.config.uri`). Values are absent when secret."""

    path: str
    applied: str | None
    desired: str | None


@dataclass(frozen=True, slots=True)
class ConnectorChange:
    """One connector that differs. `name` is qualified: `relation.connector`."""

    action: Action
    direction: Direction
    name: str
    differences: tuple[SettingDifference, ...] = ()


@dataclass(frozen=True, slots=True)
class Diff:
    """Two snapshots compared. Relations and connectors are sorted by action's subject name; `local_views` are the LOCAL
    views that changed (folded), which readers never see by themselves. `metadata_changed` says that what is written
    differs although its meaning does not."""

    relations: tuple[RelationChange, ...]
    connectors: tuple[ConnectorChange, ...]
    local_views: Mapping[str, Action] = field(default_factory=dict)
    metadata_changed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is changed that anybody can see: what the seed's diff object would hold is empty."""
        return not self.relations and not self.connectors


def names_of(diff: Diff, action: Action, kind: RelationKind) -> tuple[str, ...]:
    """The names of relations of one kind with one action, sorted."""
    return tuple(sorted(c.name for c in diff.relations if c.action is action and c.kind is kind))


def approval_diff(diff: Diff) -> JsonObject:
    """The seed's diff object, member for member (`deployment_runtime_status_details`)."""

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
    return found | {"program_diff": program, "program_diff_error": None}
