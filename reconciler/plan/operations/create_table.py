"""Make an empty table where nothing is stored."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class CreateTable:
    """See the module."""

    KIND: ClassVar[str] = "create_table"
    SUMMARY: ClassVar[Summary] = Summary("create", "table", "tables")
    IS_SEEN: ClassVar[bool] = False

    table: str

    @property
    def relation(self) -> str:
        """The relation that it is about."""
        return self.table

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"create table {self.table}"

    def to_json(self) -> dict[str, Any]:
        """{kind, relation}."""
        return {"kind": self.KIND, "relation": self.table}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["relation"])
