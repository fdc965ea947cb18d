"""Give a modified table its new columns and no rows; or a new one, where a stored view of its name stood."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class ClearTable:
    """See the module."""

    KIND: ClassVar[str] = "clear_table"
    SUMMARY: ClassVar[Summary] = Summary("clear", "table", "tables")
    IS_SEEN: ClassVar[bool] = True

    table: str

    @property
    def relation(self) -> str:
        """The relation that it is about."""
        return self.table

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"clear table {self.table}"

    def to_json(self) -> dict[str, Any]:
        """{kind, relation}."""
        return {"kind": self.KIND, "relation": self.table}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["relation"])
