"""Give a modified table its new columns and no rows; or a new one, where a stored view of its name stood."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class ClearTable(Operation):
    """See the module."""

    KIND: ClassVar[str] = "clear_table"
    SUMMARY: ClassVar[Summary] = Summary("clear", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"clear table {self.relation}"
