"""What a plan is told besides what is applied and what is desired: things of other pipelines, and what it is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.plan.hazards.readers import ForeignReader


@dataclass(frozen=True, slots=True)
class Beside:
    """`readers` are the views of other pipelines that read what is applied, by folded name of the relation; `writers` their
    outputs that write where one does that is new or changed, by its folded name. `rollback` says what is brought back, of a
    plan that does not come from the files; `rows_of` is the pipeline whose rows the tables get instead of their own, of one
    that restores another one's checkpoint. `back` are the outputs (folded names) that write again where one wrote before:
    what was sent there is known."""

    readers: Mapping[str, Sequence[ForeignReader]] = field(default_factory=dict)
    writers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rollback: str = ""
    rows_of: str = ""
    back: frozenset[str] = frozenset()


NOTHING_BESIDE: Final = Beside()
