"""Make an empty table where nothing is stored."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class CreateTable(Operation):
    """See the module."""

    KIND: ClassVar[str] = "create_table"
    SUMMARY: ClassVar[Summary] = Summary("create", "table", "tables")
    IS_SEEN: ClassVar[bool] = False

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"create table {self.relation}"
