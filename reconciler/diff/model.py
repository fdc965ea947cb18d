"""The vocabulary of change: closed sums, each value saying what changed and nothing of what to do about it.

Pairs are always `applied, desired`. Names are spelled as in the desired definition, else as applied.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.base.digest import JsonObject
from reconciler.connectors.transport import Direction
from reconciler.diff.causes import Cause


class Action(StrEnum):
    """What happened to a relation or connector or function."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"


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
    """The seed's diff object, member for member (`deployment_runtime_status_details`). Streams, functions and safeguards,
    which the seed does not know there, stand in it where any changed: it is empty only where nothing has to be approved."""

    def connectors(action: Action, direction: Direction) -> list[str]:
        return sorted(c.name for c in diff.connectors if c.action is action and c.direction is direction)

    has_streams = any(change.kind is RelationKind.STREAM for change in diff.relations)
    kinds = [kind for kind in RelationKind if kind is not RelationKind.STREAM or has_streams]
    program = {f"{action.value}_{kind.value}s": list(names_of(diff, action, kind)) for kind in kinds for action in Action}
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
