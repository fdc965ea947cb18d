"""Let a stored relation be known by another name from the switch on. Its path stays: whoever reads it, reads on."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.diff.model import RelationKind
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class RenameRelation:
    """See the module. `applied` and `desired` are the names before and after."""

    KIND: ClassVar[str] = "rename_relation"
    SUMMARY: ClassVar[Summary] = Summary("rename", "relation", "relations")
    IS_SEEN: ClassVar[bool] = False

    applied: str
    desired: str
    kind: RelationKind

    @property
    def relation(self) -> str:
        """The relation that it is about, by the name that it has afterwards."""
        return self.desired

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"rename {self.kind.value} {self.applied} to {self.desired}"

    def to_json(self) -> dict[str, Any]:
        """{kind, relation, applied, relation_kind}."""
        kind = self.kind.value
        return {"kind": self.KIND, "relation": self.desired, "applied": self.applied, "relation_kind": kind}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["applied"], value["relation"], RelationKind(value["relation_kind"]))
