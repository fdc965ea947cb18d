"""Add nullable columns at the end of a table, in one commit that writes no rows: they are NULL in those that are there."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class ExtendTable:
    """See the module. `columns` are the names, in order."""

    KIND: ClassVar[str] = "extend_table"
    SUMMARY: ClassVar[Summary] = Summary("extend", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    table: str
    columns: tuple[str, ...]

    @property
    def relation(self) -> str:
        """The relation that it is about."""
        return self.table

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"extend table {self.table} by {', '.join(self.columns)}"

    def to_json(self) -> dict[str, Any]:
        """{kind, relation, columns}."""
        return {"kind": self.KIND, "relation": self.table, "columns": list(self.columns)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["relation"], tuple(value["columns"]))
