"""Let a stored relation be known by another name from the switch on. Its path stays: whoever reads it, reads on."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.base.declarations import RelationKind
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class RenameRelation(Operation):
    """See the module. `applied` is the name before."""

    KIND: ClassVar[str] = "rename_relation"
    SUMMARY: ClassVar[Summary] = Summary("rename", "relation", "relations")
    IS_SEEN: ClassVar[bool] = False

    relation: str
    applied: str
    relation_kind: RelationKind

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"rename {self.relation_kind.value} {self.applied} to {self.relation}"
