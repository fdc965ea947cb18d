"""Write a table's rows under its new columns into a staging folder; nothing is visible yet."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column of an evolved table: `type` is as declared; its values are those of the old column `source`, converted,
    or NULL everywhere when there is none."""

    name: str
    type: str
    source: str | None


@dataclass(frozen=True, slots=True)
class EvolveTable:
    """See the module. `applied` is the table's name before, the same unless it is renamed."""

    KIND: ClassVar[str] = "evolve_table"
    SUMMARY: ClassVar[Summary] = Summary("evolve", "table", "tables")
    IS_SEEN: ClassVar[bool] = False

    table: str
    applied: str
    columns: tuple[ColumnSource, ...]

    @property
    def relation(self) -> str:
        """The relation that it is about, by the name that it has afterwards."""
        return self.table

    def describe(self) -> str:
        """As an imperative, for people; of columns what is not simply taken over: `qty from quantity`, `note is NULL`."""
        columns = [
            f"{column.name} is NULL" if column.source is None else f"{column.name} from {column.source}"
            for column in self.columns
            if column.source != column.name
        ]
        return f"evolve table {self.table}" + (f": {'; '.join(columns)}" if columns else "")

    def to_json(self) -> dict[str, Any]:
        """{kind, relation, applied, columns: [{name, type, source}]}."""
        columns = [asdict(column) for column in self.columns]
        return {"kind": self.KIND, "relation": self.table, "applied": self.applied, "columns": columns}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["relation"], value["applied"], tuple(ColumnSource(**column) for column in value["columns"]))
