"""What people say of connectors of a pipeline that may or may not run: pause, resume, seek, skip a file.

Names are those of what is applied. A pause or resume is written down, and a live run heeds it between two steps. So is a
seek; where no run is live it is carried out at once, under the lease, or waits for an open step or apply. Whoever finishes
that carries it out next, before anything else: a run, an apply, a restore, a statement.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.base.boundaries import Boundary
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import LeaseHeld, ReconcileError
from reconciler.base.names import fold
from reconciler.connectors.transport import Direction
from reconciler.engine.files import files_read, skipped_files
from reconciler.environment.locations import with_root, without_root
from reconciler.environment.observer import SILENT, Observer
from reconciler.environment.target import Target
from reconciler.project.program.model import Connector, Program
from reconciler.registry.model import Head, Stored
from reconciler.run.emitting import Place
from reconciler.run.lagging import lagging_steps
from reconciler.run.orchestration import find_connector
from reconciler.run.recovering import program_in_force
from reconciler.run.seeking import carry_out_seeks, require_place, settled_place
from reconciler.run.skipping import WITHOUT, file_meant
from reconciler.state.controls import read_controls, say_of_connector, seek_connector
from reconciler.state.events import EventLog, Happened
from reconciler.state.lease import hold_lease, this_process
from reconciler.state.stopping import live_run


def pause_connector(target: Target, pipeline: str, connector: str, paused: bool, by: str) -> Connector:
    """Pause or resume a connector. Raises NotFound (A506, A511)."""
    found = find_connector(program_in_force(target, pipeline)[1], connector)
    say_of_connector(target.registry, pipeline, found.qualified_name, paused, by)
    return found


@dataclass(frozen=True, slots=True)
class Put:
    """A connector that was put somewhere: whether that is done; if not, whether a live run does it, else the next one. Of an
    output, by how many steps it lagged when it was asked for, where that is known; of a file that is skipped, whether it
    was read before: then its rows stay."""

    connector: Connector
    done: bool
    live: bool = False
    lagged_steps: int | None = None
    was_read: bool = False


def skip_file(
    target: Target,
    pipeline: str,
    connector: str,
    file: str,
    by: str,
    observer: Observer = SILENT,
) -> Put:
    """Have an input of files go on without one of them: named as messages name it, or relative to the repository's root.
    Raises NotFound (A506, A511) and ReconcileError (A512)."""
    stored, program = program_in_force(target, pipeline)
    found = find_connector(program, connector)
    if found.transport != "file_input":
        raise ReconcileError(
            "A512", f"{found.qualified_name} ({found.transport}) reads no files", "see: reconcile connector seek"
        )
    position = with_root(stored.value.positions.get(fold(found.qualified_name)), target.root)
    path = file_meant(found, target.root, position, file)
    wish = read_controls(target.registry, pipeline).seeks.get(fold(found.qualified_name))
    # One wish replaces another: those that wait go along.
    waiting = wish.to.get(WITHOUT, []) if wish is not None and isinstance(wish.to, dict) else []
    paths = [*waiting, without_root(path, target.root)]
    put = put_connector(target, pipeline, connector, {WITHOUT: paths}, by, observer)
    return replace(put, was_read=path in files_read(position) and path not in skipped_files(position))


def put_connector(
    target: Target,
    pipeline: str,
    connector: str,
    to: Any,
    by: str,
    observer: Observer = SILENT,
) -> Put:
    """Have a connector go on from `to`. Raises NotFound (A506, A511) and ReconcileError (A512)."""
    stored, program = program_in_force(target, pipeline)
    found = find_connector(program, connector)
    to = settled_place(found, to)
    require_place(found, to)
    seek_connector(target.registry, pipeline, found.qualified_name, to, by)
    if live_run(target.registry, pipeline) is not None:
        return _asked(target, stored.value, found, to, live=True)
    try:
        with hold_lease(target.registry, pipeline, this_process("connector")):
            stored, program = program_in_force(target, pipeline)
            if stored.value.intent is not None or stored.value.journal is not None:
                observer.tell(
                    "a step or an apply is unfinished: the command that finishes it, such as the next run, does this "
                    "after it"
                )
                return _asked(target, stored.value, found, to)
            happened = _carry_out(target, stored, program, observer.tell, observer.boundary)
    except LeaseHeld:
        # Somebody began to write meanwhile; if it is a run, it sees the wish.
        return _asked(target, stored.value, found, to)
    for one in happened:
        if fold(one.subject) == fold(found.qualified_name):
            return Put(found, done=True, lagged_steps=one.details.get("lagged_steps"))
    return _asked(target, stored.value, found, to)


def carry_out_waiting(target: Target, pipeline: str, tell: Callable[[str], None], boundary: Boundary) -> None:
    """Carry out what waits for an open step or apply that is finished now, under the lease, before anything else is made of
    the pipeline. `latest` and `earliest` are meant as of when they were asked for: later, they would take what an apply or a
    statement brings, or what a restore brought back, for what they were said of."""
    stored = target.registry.head(pipeline)
    if stored is None or stored.value.applied is None or stored.value.applied.record is None:
        return
    if read_controls(target.registry, pipeline).seeks:
        stored, program = program_in_force(target, pipeline)
        _carry_out(target, stored, program, tell, boundary)


def _carry_out(
    target: Target, stored: Stored[Head], program: Program, tell: Callable[[str], None], boundary: Boundary
) -> tuple[Happened, ...]:
    seeks = read_controls(target.registry, stored.value.pipeline).seeks
    happened = carry_out_seeks(target, stored, program, seeks, tell, boundary)[1]
    EventLog(target.registry, stored.value.pipeline, tell).record_all(happened)
    return happened


def _asked(target: Target, head: Head, connector: Connector, to: Any, *, live: bool = False) -> Put:
    """A wish that somebody else carries out."""
    leaves_out = connector.direction is Direction.OUTPUT and to == Place.LATEST
    return Put(connector, False, live, lagging_steps(target.registry, head, connector) if leaves_out else None)
