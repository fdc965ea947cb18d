"""Remove the stored data of a removed table or view, or of a view that is no longer materialized."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.diff.model import RelationKind
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class DropRelation:
    """See the module."""

    KIND: ClassVar[str] = "drop_relation"
    SUMMARY: ClassVar[Summary] = Summary("drop the data of", "relation", "relations")
    IS_SEEN: ClassVar[bool] = True

    relation: str
    kind: RelationKind

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"drop the data of {self.kind.value} {self.relation}"

    def to_json(self) -> dict[str, Any]:
        """{kind, relation, relation_kind}."""
        return {"kind": self.KIND, "relation": self.relation, "relation_kind": self.kind.value}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["relation"], RelationKind(value["relation_kind"]))
