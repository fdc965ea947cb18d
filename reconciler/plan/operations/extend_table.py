"""Add nullable columns at the end of a table, in one commit that writes no rows: they are NULL in those that are there."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class ExtendTable(Operation):
    """See the module. `columns` are the names, in order."""

    KIND: ClassVar[str] = "extend_table"
    SUMMARY: ClassVar[Summary] = Summary("extend", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    relation: str
    columns: tuple[str, ...]

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"extend table {self.relation} by {', '.join(self.columns)}"
