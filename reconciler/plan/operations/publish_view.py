"""Make the bootstrapped rows the contents of the view's permanent path, in one commit."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class PublishView:
    """See the module."""

    KIND: ClassVar[str] = "publish_view"
    SUMMARY: ClassVar[Summary] = Summary("publish", "view", "views")
    IS_SEEN: ClassVar[bool] = True

    view: str

    @property
    def relation(self) -> str:
        """The relation that it is about."""
        return self.view

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"publish {self.view}"

    def to_json(self) -> dict[str, Any]:
        """{kind, relation}."""
        return {"kind": self.KIND, "relation": self.view}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["relation"])
