"""Make the bootstrapped rows the contents of the view's permanent path, in one commit."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class PublishView(Operation):
    """See the module."""

    KIND: ClassVar[str] = "publish_view"
    SUMMARY: ClassVar[Summary] = Summary("publish", "view", "views")
    IS_SEEN: ClassVar[bool] = True

    relation: str

    def describe(self) -> str:
        """As an imperative, for people."""
        return f"publish {self.relation}"
