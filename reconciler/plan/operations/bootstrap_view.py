"""Compute a view from existing table state into a staging folder; nothing is visible yet."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from reconciler.base.digest import JsonObject
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class BootstrapView:
    """See the module. `reads`: the stored relations that it is computed from, sorted."""

    KIND: ClassVar[str] = "bootstrap_view"
    SUMMARY: ClassVar[Summary] = Summary("bootstrap", "view", "views")
    IS_SEEN: ClassVar[bool] = False

    view: str
    reads: tuple[str, ...]

    @property
    def relation(self) -> str:
        """The relation that it is about."""
        return self.view

    def describe(self) -> str:
        """As an imperative, for people: `bootstrap avg_grade_enriched from grades, students`."""
        return f"bootstrap {self.view} from {', '.join(self.reads) or 'no table'}"

    def to_json(self) -> dict[str, Any]:
        """{kind, relation, reads}."""
        return {"kind": self.KIND, "relation": self.view, "reads": list(self.reads)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The step of its JSON object."""
        return cls(value["relation"], tuple(value["reads"]))
