"""What people say of connectors of a pipeline that may or may not run: pause, resume, seek.

Names are those of what is applied. A pause or resume is written down, and a live run heeds it between two steps. So is a
seek; where no run is live it is carried out at once, under the lease.
"""

from collections.abc import Callable
from typing import Any

from reconciler.connectors.transport import Direction
from reconciler.errors import LeaseHeld
from reconciler.names import fold
from reconciler.program.model import Connector
from reconciler.reconcile.controls import read_controls, say_of_connector, seek_connector
from reconciler.reconcile.events import EventLog
from reconciler.reconcile.lease import hold_lease, this_process
from reconciler.reconcile.orchestration import find_connector
from reconciler.reconcile.replaying import program_in_force
from reconciler.reconcile.seeking import carry_out_seeks, sought_position
from reconciler.reconcile.stopping import live_run
from reconciler.reconcile.target import Target


def pause_connector(target: Target, pipeline: str, connector: str, paused: bool, by: str) -> Connector:
    """Pause or resume a connector. Raises NotFound (A506, A511)."""
    found = find_connector(program_in_force(target, pipeline)[1], connector)
    say_of_connector(target.registry, pipeline, found.qualified_name, paused, by)
    return found


def put_connector(
    target: Target,
    pipeline: str,
    connector: str,
    to: Any,
    by: str,
    tell: Callable[[str], None] = lambda message: None,
) -> tuple[Connector, bool]:
    """Have an input read on from `to`; whether that is done (a live run does it between two steps). Raises NotFound (A506,
    A511) and ReconcileError (A512)."""
    program = program_in_force(target, pipeline)[1]
    found = find_connector(program, connector, (Direction.INPUT,))
    sought_position(found, to)
    seek_connector(target.registry, pipeline, found.qualified_name, to, by)
    if live_run(target.registry, pipeline) is not None:
        return found, False
    try:
        with hold_lease(target.registry, pipeline, this_process("connector")):
            stored, program = program_in_force(target, pipeline)
            if stored.value.intent is not None or stored.value.journal is not None:
                tell("something was left open: the next run finishes it, then does this")
                return found, False
            seeks = read_controls(target.registry, pipeline).seeks
            happened = carry_out_seeks(target, stored, program, seeks, tell)[1]
            EventLog(target.registry, pipeline, tell).record_all(happened)
            return found, any(fold(one.subject) == fold(found.qualified_name) for one in happened)
    except LeaseHeld:
        # Somebody began to write meanwhile; if it is a run, it sees the wish.
        return found, False
