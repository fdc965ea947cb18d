"""Who is told of work on a pipeline while it goes on."""

from collections.abc import Callable
from typing import Final

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.dataclass import dataclass
from reconciler.engine.protocol import Engine
from reconciler.environment.progress import Progress
from reconciler.environment.session import Session


@dataclass(frozen=True, slots=True)
class Observer:
    """`report` is given the progress of each step of an apply, `tell` lines for people. At a `boundary` tests let a process
    die."""

    report: Callable[[Progress], None] = lambda progress: None
    tell: Callable[[str], None] = lambda message: None
    boundary: Boundary = no_boundary

    def session(self, engine: Engine) -> Session:
        """A session of work on this engine."""
        return Session(engine, tell=self.tell, boundary=self.boundary, report=self.report)


SILENT: Final = Observer()
"""Tells nobody."""
