"""The steps that plans are made of, in the order in which a plan carries them out.

Each kind says what the step is, its words, and its form in JSON, as plans and journals have it: names of kinds are
permanent. `IS_SEEN` says whether a reader of the relation's folder may see what the step does: an apply that began such a
step can only go forward (`materialize.taking_back`).

How a step is carried out stands elsewhere: `registry.entries` (what it pins), `materialize.apply_effects` (its effect),
`testing.simulate` (its effect on a model).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeAlias, get_args

from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json, to_json
from reconciler.diff.model import RelationKind


class Summary(NamedTuple):
    """How steps of one kind are summed up, as `bootstrap 600 views`: the verb, and what it is done to, one and many."""

    verb: str
    one: str
    many: str

    def of(self, count: int) -> str:
        """So many of them, for people."""
        return f"{self.verb} {count} {self.one if count == 1 else self.many}"


@dataclass(frozen=True, slots=True)
class Operation:
    """One step. Its members are those of its JSON object, beside `kind`; `relation` is the one that it is about, by the name
    that this has afterwards."""

    KIND: ClassVar[str]
    IS_SEEN: ClassVar[bool]

    def to_json(self) -> dict[str, Any]:
        """{kind, relation, …}."""
        return {"kind": self.KIND, **to_json(self)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return from_json(cls, {name: member for name, member in value.items() if name != "kind"})


@dataclass(frozen=True, slots=True)
class CreateTable(Operation):
    """Make an empty table where nothing is stored."""

    KIND: ClassVar[str] = "create_table"
    SUMMARY: ClassVar[Summary] = Summary("create", "table", "tables")
    IS_SEEN: ClassVar[bool] = False

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"create table {self.relation}"


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column of an evolved table: `type` is as declared; its values are those of the old column `source`, converted,
    or NULL everywhere when there is none."""

    name: str
    type: str
    source: str | None


@dataclass(frozen=True, slots=True)
class EvolveTable(Operation):
    """Write a table's rows under its new columns into a staging folder; nothing is visible yet. `applied` is the
    table's name before, the same unless it is renamed."""

    KIND: ClassVar[str] = "evolve_table"
    SUMMARY: ClassVar[Summary] = Summary("evolve", "table", "tables")
    IS_SEEN: ClassVar[bool] = False

    relation: str
    applied: str
    columns: tuple[ColumnSource, ...]

    def describe(self) -> str:
        """As an imperative, for people; of columns what is not simply taken over: `qty from quantity`, `note is NULL`."""
        columns = [
            f"{column.name} is NULL" if column.source is None else f"{column.name} from {column.source}"
            for column in self.columns
            if column.source != column.name
        ]
        return f"evolve table {self.relation}" + (f": {'; '.join(columns)}" if columns else "")


@dataclass(frozen=True, slots=True)
class BootstrapView(Operation):
    """Compute a view from existing table state into a staging folder; nothing is visible yet. `reads`: the stored
    relations that it is computed from, sorted."""

    KIND: ClassVar[str] = "bootstrap_view"
    SUMMARY: ClassVar[Summary] = Summary("bootstrap", "view", "views")
    IS_SEEN: ClassVar[bool] = False

    relation: str
    reads: tuple[str, ...]

    def describe(self) -> str:
        """As an imperative, for people: `bootstrap avg_grade_enriched from grades, students`."""
        return f"bootstrap {self.relation} from {', '.join(self.reads) or 'no table'}"


@dataclass(frozen=True, slots=True)
class ClearTable(Operation):
    """Give a modified table its new columns and no rows; or a new one, where a stored view of its name stood."""

    KIND: ClassVar[str] = "clear_table"
    SUMMARY: ClassVar[Summary] = Summary("clear", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"clear table {self.relation}"


@dataclass(frozen=True, slots=True)
class ExtendTable(Operation):
    """Add nullable columns at the end of a table, in one commit that writes no rows: they are NULL in those that are
    there. `columns` are the names, in order."""

    KIND: ClassVar[str] = "extend_table"
    SUMMARY: ClassVar[Summary] = Summary("extend", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    relation: str
    columns: tuple[str, ...]

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"extend table {self.relation} by {', '.join(self.columns)}"


@dataclass(frozen=True, slots=True)
class PublishTable(Operation):
    """Make the evolved rows the contents of the table's permanent path, columns and rows in one commit."""

    KIND: ClassVar[str] = "publish_table"
    SUMMARY: ClassVar[Summary] = Summary("publish", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"publish table {self.relation}"


@dataclass(frozen=True, slots=True)
class PublishView(Operation):
    """Make the bootstrapped rows the contents of the view's permanent path, in one commit."""

    KIND: ClassVar[str] = "publish_view"
    SUMMARY: ClassVar[Summary] = Summary("publish", "view", "views")
    IS_SEEN: ClassVar[bool] = True

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"publish {self.relation}"


@dataclass(frozen=True, slots=True)
class RenameRelation(Operation):
    """Let a stored relation be known by another name from the switch on. Its path stays: whoever reads it, reads
    on. `applied` is the name before."""

    KIND: ClassVar[str] = "rename_relation"
    SUMMARY: ClassVar[Summary] = Summary("rename", "relation", "relations")
    IS_SEEN: ClassVar[bool] = False

    relation: str
    applied: str
    relation_kind: RelationKind

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"rename {self.relation_kind.value} {self.applied} to {self.relation}"


@dataclass(frozen=True, slots=True)
class DropRelation(Operation):
    """Remove the stored data of a removed table or view, or of a view that is no longer materialized."""

    KIND: ClassVar[str] = "drop_relation"
    SUMMARY: ClassVar[Summary] = Summary("drop the data of", "relation", "relations")
    IS_SEEN: ClassVar[bool] = True

    relation: str
    relation_kind: RelationKind

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"drop the data of {self.relation_kind.value} {self.relation}"


@dataclass(frozen=True, slots=True)
class CommitSnapshot(Operation):
    """Switch readers and make the desired snapshot the applied one, in one commit. Always the last step. It is
    about no relation by itself, but about all."""

    KIND: ClassVar[str] = "commit_snapshot"
    IS_SEEN: ClassVar[bool] = True

    @property
    def relation(self) -> None:
        """None: it is about all of them."""
        return None

    def describe(self) -> str:
        """As an imperative, for people."""
        return "switch readers and commit the snapshot"


Step: TypeAlias = (
    CreateTable
    | EvolveTable
    | BootstrapView
    | ClearTable
    | ExtendTable
    | PublishTable
    | PublishView
    | RenameRelation
    | DropRelation
    | CommitSnapshot
)

_KINDS: Final[tuple[type[Step], ...]] = get_args(Step)
_PLACES: Final[Mapping[type[Step], int]] = {kind: place for place, kind in enumerate(_KINDS)}
_BY_NAME: Final[Mapping[str, type[Step]]] = {kind.KIND: kind for kind in _KINDS}


def place_of(step: Step) -> int:
    """Steps of one kind come before those of another: a key to sort by."""
    return _PLACES[type(step)]


def step_from_json(value: JsonObject) -> Step:
    """The step of its JSON object. Raises ValueError for a kind that this version does not know."""
    kind = _BY_NAME.get(value["kind"])
    if kind is None:
        raise ValueError(f"unknown step kind {value['kind']!r}")
    return kind.from_json(value)
