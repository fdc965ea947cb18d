"""Write a table's rows under its new columns into a staging folder; nothing is visible yet."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column of an evolved table: `type` is as declared; its values are those of the old column `source`, converted,
    or NULL everywhere when there is none."""

    name: str
    type: str
    source: str | None


@dataclass(frozen=True, slots=True)
class EvolveTable(Operation):
    """See the module. `applied` is the table's name before, the same unless it is renamed."""

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
