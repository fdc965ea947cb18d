"""Remove the stored data of a removed table or view, or of a view that is no longer materialized."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class DropRelation(Operation):
    """See the module."""

    KIND: ClassVar[str] = "drop_relation"
    SUMMARY: ClassVar[Summary] = Summary("drop the data of", "relation", "relations")
    IS_SEEN: ClassVar[bool] = True

    relation: str
    relation_kind: RelationKind

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"drop the data of {self.relation_kind.value} {self.relation}"
