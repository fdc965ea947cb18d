"""What all steps have in common: their form in JSON, as plans and journals have it."""

from typing import Any, ClassVar, Self

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.json_objects import from_json, to_json


@dataclass(frozen=True, slots=True)
class Operation:
    """One step. Its members are those of its JSON object, beside `kind`; `relation` is the one that it is about, by the name
    that this has afterwards."""

    KIND: ClassVar[str]
    IS_SEEN: ClassVar[bool]

    def to_json(self) -> dict[str, Any]:
        """{kind, relation, …}."""
        return {"kind": self.KIND, **to_json(self)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return from_json(cls, {name: member for name, member in value.items() if name != "kind"})
