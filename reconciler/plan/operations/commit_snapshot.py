"""Switch readers and make the desired snapshot the applied one, in one commit. Always the last step."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject


@dataclass(frozen=True, slots=True)
class CommitSnapshot:
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

    def to_json(self) -> dict[str, Any]:
        """{kind}."""
        return {"kind": self.KIND}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls()
