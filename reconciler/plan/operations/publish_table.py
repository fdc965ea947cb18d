"""Make the evolved rows the contents of the table's permanent path, columns and rows in one commit."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class PublishTable(Operation):
    """See the module."""

    KIND: ClassVar[str] = "publish_table"
    SUMMARY: ClassVar[Summary] = Summary("publish", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"publish table {self.relation}"
