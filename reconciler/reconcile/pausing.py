"""What people say of connectors of a pipeline that may or may not run: pause, resume, seek, skip a file.

Names are those of what is applied. A pause or resume is written down, and a live run heeds it between two steps. So is a
seek; where no run is live it is carried out at once, under the lease.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reconciler.connectors.transport import Direction
from reconciler.engine.files import files_read
from reconciler.errors import LeaseHeld, ReconcileError
from reconciler.names import fold
from reconciler.program.model import Connector
from reconciler.reconcile.boundaries import Boundary, no_boundary
from reconciler.reconcile.controls import read_controls, say_of_connector, seek_connector
from reconciler.reconcile.emitting import Place
from reconciler.reconcile.events import EventLog
from reconciler.reconcile.lagging import lagging_steps
from reconciler.reconcile.lease import hold_lease, this_process
from reconciler.reconcile.locations import with_root, without_root
from reconciler.reconcile.orchestration import find_connector
from reconciler.reconcile.replaying import program_in_force
from reconciler.reconcile.seeking import WITHOUT, carry_out_seeks, require_place
from reconciler.reconcile.stopping import live_run
from reconciler.reconcile.target import Target
from reconciler.registry.model import Head


def pause_connector(target: Target, pipeline: str, connector: str, paused: bool, by: str) -> Connector:
    """Pause or resume a connector. Raises NotFound (A506, A511)."""
    found = find_connector(program_in_force(target, pipeline)[1], connector)
    say_of_connector(target.registry, pipeline, found.qualified_name, paused, by)
    return found


@dataclass(frozen=True, slots=True)
class Put:
    """A connector that was put somewhere: whether that is done; if not, whether a live run does it, else the next one. Of an
    output, by how many steps it lagged when it was asked for, where that is known."""

    connector: Connector
    done: bool
    live: bool = False
    lagged_steps: int | None = None


def skip_file(
    target: Target,
    pipeline: str,
    connector: str,
    file: str,
    by: str,
    tell: Callable[[str], None] = lambda message: None,
    boundary: Boundary = no_boundary,
) -> Put:
    """Have an input of files go on without one of them: named as messages name it, or relative to the repository's root.
    Raises NotFound (A506, A511) and ReconcileError (A512)."""
    stored, program = program_in_force(target, pipeline)
    found = find_connector(program, connector)
    if found.transport != "file_input":
        raise ReconcileError(
            "A512", f"{found.qualified_name} ({found.transport}) reads no files", "see: reconcile connector seek"
        )
    path = file if "://" in file or file.startswith("/") else str(target.root / file)
    position = with_root(stored.value.positions.get(fold(found.qualified_name)), target.root)
    if "://" not in path and not Path(path).is_file() and path not in files_read(position):
        raise ReconcileError("A512", f"there is no file {path}", "name it as the message of the connector does")
    wish = read_controls(target.registry, pipeline).seeks.get(fold(found.qualified_name))
    # One wish replaces another: those that wait go along.
    waiting = wish.to.get(WITHOUT, []) if wish is not None and isinstance(wish.to, dict) else []
    paths = [*waiting, without_root(path, target.root)]
    return put_connector(target, pipeline, connector, {WITHOUT: paths}, by, tell, boundary)


def put_connector(
    target: Target,
    pipeline: str,
    connector: str,
    to: Any,
    by: str,
    tell: Callable[[str], None] = lambda message: None,
    boundary: Boundary = no_boundary,
) -> Put:
    """Have a connector go on from `to`. Raises NotFound (A506, A511) and ReconcileError (A512)."""
    stored, program = program_in_force(target, pipeline)
    found = find_connector(program, connector)
    require_place(found, to)
    seek_connector(target.registry, pipeline, found.qualified_name, to, by)
    if live_run(target.registry, pipeline) is not None:
        return _asked(target, stored.value, found, to, live=True)
    try:
        with hold_lease(target.registry, pipeline, this_process("connector")):
            stored, program = program_in_force(target, pipeline)
            if stored.value.intent is not None or stored.value.journal is not None:
                tell("something was left open: the next run finishes it, then does this")
                return _asked(target, stored.value, found, to)
            seeks = read_controls(target.registry, pipeline).seeks
            happened = carry_out_seeks(target, stored, program, seeks, tell, boundary)[1]
            EventLog(target.registry, pipeline, tell).record_all(happened)
    except LeaseHeld:
        # Somebody began to write meanwhile; if it is a run, it sees the wish.
        return _asked(target, stored.value, found, to)
    for one in happened:
        if fold(one.subject) == fold(found.qualified_name):
            return Put(found, done=True, lagged_steps=one.details.get("lagged_steps"))
    return _asked(target, stored.value, found, to)


def _asked(target: Target, head: Head, connector: Connector, to: Any, *, live: bool = False) -> Put:
    """A wish that somebody else carries out."""
    leaves_out = connector.direction is Direction.OUTPUT and to == Place.LATEST
    return Put(connector, False, live, lagging_steps(target.registry, head, connector) if leaves_out else None)
