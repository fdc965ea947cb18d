"""Switch readers and make the desired snapshot the applied one, in one commit. Always the last step."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation


@dataclass(frozen=True, slots=True)
class CommitSnapshot(Operation):
    """See the module. It is about no relation by itself, but about all."""

    KIND: ClassVar[str] = "commit_snapshot"
    IS_SEEN: ClassVar[bool] = True

    @property
    def relation(self) -> None:
        """None: it is about all of them."""
        return None

    def describe(self) -> str:
        """As an imperative, for people."""
        return "switch readers and commit the snapshot"
