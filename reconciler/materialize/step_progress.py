"""A step on its way: what it works with, and how far it came.

`placements` moves along from the published step to the next one; so do the counts.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from reconciler.base.errors import RegistryError
from reconciler.delta.opening import join_location
from reconciler.engine.protocol import FailedCalls
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.materialize.changed_sources import LookedUp
from reconciler.project.program.lateness import Number
from reconciler.project.program.model import Program
from reconciler.query.reading import Place, published_place
from reconciler.registry.model import Head
from reconciler.registry.placements import ForeignStep, KeysSeen, Placement, foreign_placements

Doing: TypeAlias = Callable[[int, str, int, int], None]
"""Told before each part of a step that may take long: the step's number, what is done, the how many-th of how many."""


def untold(step: int, what: str, number: int, of: int) -> None:
    """Nobody wants to know."""


class StepProgress:
    """See the module. `before` are the placements of the published step, `said` is what each commit says of itself.
    `changed` are the relations (keys) that are others than before, `added` by key the ranges of versions by which rows came
    to them."""

    def __init__(
        self,
        target: Target,
        program: Program,
        head: Head,
        session: Session,
        doing: Doing = untold,
    ) -> None:
        if head.intent is None or head.published is None:
            raise RegistryError("G602", f"{head.pipeline!r} has no step to carry out")
        self.target = target
        self.program = program
        self.engine = session.engine
        self.intent = head.intent
        self.boundary = session.boundary
        self.check = session.check
        self.clock = session.clock
        self.choice = session.choice
        self.given_up = session.given_up
        self.doing = doing
        self.said = {"pipeline": head.pipeline, "step": head.intent.step, "epoch": head.epoch}
        self.before = dict(head.published.relations)
        self.placements: dict[str, Placement] = dict(self.before)
        self.foreign: dict[str, ForeignStep] = dict(head.published.foreign)
        self.rows: dict[str, int] = {}
        self.rejected: dict[str, int] = {}
        self.unmatched: dict[str, int] = {}
        self.late: dict[str, int] = {}
        self.unknown: dict[str, Mapping[str, int]] = {}
        self.missing: dict[str, tuple[str, ...]] = {}
        self.without_spark: set[str] = set()
        self.ways: dict[str, str] = {}
        self.failed_calls: dict[str, tuple[FailedCalls, ...]] = {}
        self.seconds: dict[str, float] = {"ingest": 0.0, "views": 0.0, "publish": 0.0}
        self.changed: set[str] = set()
        self.looked_up = LookedUp()
        self.greatest: dict[str, Mapping[str, Number]] = {}
        self.added: dict[str, list[tuple[int, int]]] = {}
        self.lost: list[str] = []
        self.keys: dict[str, KeysSeen] = {}

    @property
    def number(self) -> int:
        """The step's own."""
        return self.intent.step

    @property
    def place_before(self) -> Place:
        """Where relations stood before the step."""
        return self._place(self.before)

    @property
    def place_now(self) -> Place:
        """Where they stand now."""
        return self._place(self.placements)

    def location_of(self, placement: Placement) -> str:
        """The folder of a relation."""
        return join_location(self.target.warehouse, placement.location)

    def _place(self, placements: Mapping[str, Placement]) -> Place:
        return published_place(self.program, self.target.warehouse, {**placements, **foreign_placements(self.foreign)})
