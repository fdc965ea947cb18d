"""A process that makes one step and stops itself, as SIGSTOP does from outside, at a point of it; then it goes on.

    python -m tests.shops.late_driver ROOT POINT guarded|unguarded

POINT is a boundary (`view:before#2`), or `inside:NAME` for within a call of the engine, after everything was looked at.
`unguarded`: it does not look whether it still holds the lease, so that nothing but what it finds on the tables can stop it.
Prints the code that it ends with.
"""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.errors import ReconcileError
from reconciler.environment.locations import with_absolute_location, without_root
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.registry.intents import Ingest, ReadInputs
from reconciler.run.recovering import program_in_force
from reconciler.run.stepping import carry_out, write_intent
from reconciler.service.project import Project
from reconciler.state.lease import hold_lease, this_process
from reconciler.testing.recording import RecordingEngine
from tests.engine.delta_writer import DeltaWriter
from tests.shops.recorded import PIPELINE

LEASE_SECONDS = 0.6


def stop() -> None:
    """Stop this process until somebody lets it go on."""
    os.kill(os.getpid(), signal.SIGSTOP)


class StoppingEngine(RecordingEngine):
    """Stops when the first call of that name begins."""

    def __init__(self, name: str) -> None:
        super().__init__(DeltaWriter())
        self.name = name

    def ingest(self, ingestion: Any) -> Any:
        self._stop_in("ingest")
        return super().ingest(ingestion)

    def build_view(self, build: Any) -> Any:
        self._stop_in("build_view")
        return super().build_view(build)

    def _stop_in(self, name: str) -> None:
        if self.name == name:
            self.name = ""
            stop()


def stop_at(point: str) -> Boundary:
    """The boundary that stops at a point."""
    wanted, _, occurrence = point.partition("#")
    seen = 0

    def boundary(name: str) -> None:
        nonlocal seen
        seen += name == wanted
        if name == wanted and seen == int(occurrence or 1):
            stop()

    return boundary


def make_step(root: Path, point: str, guarded: bool) -> str:
    """One step that brings in what both connectors have; the code of what stops it, or `done`."""
    inside = point.partition("inside:")[2]
    engine = StoppingEngine(inside)
    boundary = no_boundary if inside else stop_at(point)
    target = Project.open(root, engine=engine).target
    with hold_lease(target.registry, PIPELINE, this_process("run"), seconds=LEASE_SECONDS) as lease:
        session = Session(engine, boundary=boundary)
        try:
            carry_out_step(target, replace(session, check=lease.check) if guarded else session)
        except ReconcileError as error:
            return error.code
    return "done"


def carry_out_step(target: Target, session: Session) -> None:
    """Write the intent of the step, and carry it out."""
    stored, program = program_in_force(target, PIPELINE)
    ingests = []
    for _, connector in sorted(program.connectors.items()):
        settings = with_absolute_location(connector.settings, target.root)
        found = session.engine.discover(connector.qualified_name, settings, None)
        assert found is not None
        read, position = (without_root(one, target.root) for one in (found.range, found.position))
        ingests.append(Ingest(connector.qualified_name, read, position))
    session.boundary("intent:before")
    stored = write_intent(target, stored, ReadInputs(tuple(ingests)))
    carry_out(target, stored, program, session)


if __name__ == "__main__":
    print(make_step(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "guarded"))
