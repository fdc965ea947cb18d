"""Compute a view from existing table state into a staging folder; nothing is visible yet."""

from typing import ClassVar

from reconciler.base.dataclass import dataclass
from reconciler.plan.operations.operation import Operation
from reconciler.plan.operations.summary import Summary


@dataclass(frozen=True, slots=True)
class BootstrapView(Operation):
    """See the module. `reads`: the stored relations that it is computed from, sorted."""

    KIND: ClassVar[str] = "bootstrap_view"
    SUMMARY: ClassVar[Summary] = Summary("bootstrap", "view", "views")
    IS_SEEN: ClassVar[bool] = False

    relation: str
    reads: tuple[str, ...]

    def describe(self) -> str:
        """As an imperative, for people: `bootstrap avg_grade_enriched from grades, students`."""
        return f"bootstrap {self.relation} from {', '.join(self.reads) or 'no table'}"
