"""Outputs follow the published step: what is to be written is pinned in the head, then written, then ticked off.

- `pin_emissions`, in the commit that publishes a step or an apply: each output whose view has moved on since what it sent
  gets the difference pinned as a `Sending`, unless an earlier one is still under way.
- `emit_pinned`, after that commit: the engine writes what is pinned. Nothing can be emitted of a step that is not
  published. A repeat (the writer died between the sink's commit and the head's) asks for exactly the same under the same
  transaction: a sink that keeps transactions skips it, the others get it again. What only has its number is not taken for
  it: each `Sending` has an id of its own, and a sink that has another one's says so (X756). From then on the output's serial
  is the highest that the sink has, so that it gets through once a user has said how it goes on.
- A sink that fails keeps its `Sending`; it gets that again later, then all that came meanwhile as one net difference.
  The other outputs go on.
- In the commit that closes an apply each output goes on as the plan said (`output_starts`).
- `put_output`, in the commit that carries out a seek: an output goes on from where its user wants it (`seeking`).
"""

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import assert_never

from reconciler.base.boundaries import BEFORE, EFFECTED
from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import AnotherEmission, EngineError, ReconcileError
from reconciler.base.names import fold
from reconciler.delta.opening import join_location
from reconciler.engine.protocol import Emission, Transaction
from reconciler.engine.sources import StoredSource
from reconciler.environment.locations import with_absolute_location
from reconciler.environment.session import Session
from reconciler.environment.target import Target
from reconciler.project.program.model import Connector, Program
from reconciler.registry.model import Head, OutputState, Sending
from reconciler.run.output_starts import Start, begun_anew, going_on, output_identity, version_of
from reconciler.run.outputs_by_place import outputs_of
from reconciler.workspace.declared import places_told

EMIT_TRANSACTION = "reconcile/emit"
_NOT_READABLE = ("X714", "X730")
"""What an emission ends with whose version of the view is gone: files that its log still names, or the log as well."""


class Place(StrEnum):
    """Where a user can put an output: before all that its view holds at the published step, or right behind it."""

    LATEST = "latest"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class EmissionResult:
    """What became of one output's emission: the rows that came and went, or why it failed. `step` is the published step
    that it brings the sink to; `reused`: the sink had it already; `dropped`: rows that went, of which it can't be told;
    `without_spark`: there was so little that no Spark was asked."""

    connector: str
    step: int
    inserted: int = 0
    deleted: int = 0
    reused: bool = False
    error: EngineError | None = None
    seconds: float = 0.0
    dropped: int = 0
    without_spark: bool = False


def random_id() -> str:
    """An id that nobody else gives."""
    return uuid.uuid4().hex


def pin_emissions(head: Head, program: Program, new_id: Callable[[], str] = random_id) -> Head:
    """The head with what every output is to write next, where nothing is under way already. Only what was stored so may be
    written: each call gives what it pins another id."""
    outputs = dict(head.outputs)
    for key, connector in _outputs(program):
        version = version_of(head.published, connector)
        if version is None or head.published is None:
            continue
        state = outputs.get(key)
        if state is None:
            # Of what was applied by a version that wrote no outputs.
            apply_id = head.applied.apply_id if head.applied else ""
            state = begun_anew(output_identity(head.pipeline, key, apply_id), version, 0)
        outputs[key] = _pinned(state, version, head.published.step, new_id)
    return replace(head, outputs=dict(sorted(outputs.items())))


def emit_pinned(
    target: Target,
    pipeline: str,
    program: Program,
    head: Head,
    session: Session,
    leave_out: Collection[str] = (),
) -> tuple[Head, tuple[EmissionResult, ...]]:
    """Write what is pinned, output by output, but for those that `leave_out` names (qualified names, any letter case).
    The session's check is asked before each emission, again before anything of it is there, and when the sink has another's.

    The head comes back with what was written ticked off; the caller writes it with whatever it writes next. What the
    engine refuses is in the results and stays pinned.
    """
    outputs, results = dict(head.outputs), []
    left_out = {fold(name) for name in leave_out}
    for key, connector in _outputs(program):
        state = outputs.get(key)
        if state is None or state.sending is None or key in left_out:
            continue
        emission = _emission(target, pipeline, connector, head, state, state.sending)
        session.boundary(f"emit:{BEFORE}")
        session.check()
        started = session.clock()
        try:
            with places_told(target, pipeline):
                emitted = session.engine.emit(emission, session.check)
        except EngineError as error:
            if isinstance(error, AnotherEmission):
                # Or this process was taken over, and the sink has what its successor sent.
                session.check()
                outputs[key] = replace(state, serial=max(state.serial, error.serial))
            taken, error = session.clock() - started, _with_a_way_out(error, pipeline, connector)
            results.append(EmissionResult(connector.qualified_name, state.sending.step, error=error, seconds=taken))
            continue
        session.boundary(f"emit:{EFFECTED}")
        outputs[key] = replace(state, sent=state.sending.after, sending=None)
        results.append(
            EmissionResult(
                connector.qualified_name,
                state.sending.step,
                emitted.inserted,
                emitted.deleted,
                emitted.reused,
                seconds=session.clock() - started,
                dropped=emitted.dropped,
                without_spark=emitted.without_spark,
            )
        )
    return replace(head, outputs=outputs), tuple(results)


def ticked_off(head: Head, sent: Mapping[str, Sending]) -> Head:
    """A head that was read anew, with what this process has `sent` (by folded name that the output had then) and could not
    write into it yet. Of anything else that is pinned it says nothing: each has an id of its own."""
    by_id = {one.id: one for one in sent.values() if one.id}

    def known(key: str, state: OutputState) -> OutputState:
        # An output may have been renamed since. What an earlier version pinned has no id, and only a name to go by.
        pinned = state.sending
        if pinned is None or pinned != (by_id.get(pinned.id) if pinned.id else sent.get(key)):
            return state
        return replace(state, sent=pinned.after, sending=None)

    outputs = {key: known(key, state) for key, state in head.outputs.items()}
    # What has an id may have gone to where an output wrote until now.
    left = tuple(replace(one, state=known("", one.state)) for one in head.left)
    return replace(head, outputs=outputs, left=left)


def put_output(
    head: Head,
    program: Program,
    connector: Connector,
    place: Place,
    seek: str,
    new_id: Callable[[], str] = random_id,
) -> Head:
    """The head with an output put anew at the published step, and what it writes next pinned. What was pinned and not ticked
    off is dropped. `seek` is the id of what asked for it. Raises ReconcileError (A512) where nothing is published."""
    key, version = fold(connector.qualified_name), version_of(head.published, connector)
    # Only an output that was applied by a version that wrote none has no state yet; pinning gives it one.
    state = head.outputs.get(key) or pin_emissions(head, program, new_id).outputs.get(key)
    if state is None or version is None:
        raise ReconcileError("A512", f"{connector.qualified_name}: its view has no published step", "run: reconcile apply")
    match place:
        case Place.SNAPSHOT:
            put = going_on(state, Start.FULL, state.id, version, version, state.serial)
        case Place.LATEST:
            put = replace(state, sent=version, sending=None, replaces=False, skips=(), left_out=version)
        case _:
            assert_never(place)
    return pin_emissions(replace(head, outputs={**head.outputs, key: replace(put, sought=seek)}), program, new_id)


def _pinned(state: OutputState, version: int, step: int, new_id: Callable[[], str]) -> OutputState:
    """The next thing that an output writes, pinned, if it has nothing under way and there is something."""
    if state.sending is not None:
        return state
    while state.skips and state.skips[0][0] == state.sent:
        upto = state.skips[0][1]
        state = replace(state, sent=upto, skips=state.skips[1:], left_out=upto)
    # What comes before a difference that is skipped is written by itself.
    upto = state.skips[0][0] if state.skips else version
    if state.sent == upto:
        return state
    serial = state.serial + 1
    sending = Sending(state.sent, upto, state.replaces, step, serial, new_id())
    return replace(state, sending=sending, serial=serial, replaces=False)


def _emission(
    target: Target, pipeline: str, connector: Connector, head: Head, state: OutputState, sending: Sending
) -> Emission:
    assert head.published is not None
    placement = head.published.relations[fold(connector.relation)]
    location = join_location(target.warehouse, placement.location)

    def source(version: int) -> StoredSource:
        return StoredSource(connector.relation, location, version)

    commit: JsonObject = {
        "pipeline": pipeline,
        "step": sending.step,
        "epoch": head.epoch,
        "inputs": {fold(connector.relation): sending.after},
    }
    return Emission(
        connector=connector.qualified_name,
        view=connector.relation,
        settings=with_absolute_location(connector.settings, target.root),
        before=None if sending.before is None else source(sending.before),
        after=source(sending.after),
        replaces=sending.replaces,
        step=sending.step,
        transaction=Transaction(f"{EMIT_TRANSACTION}/{state.id}", sending.serial),
        commit=commit,
        warehouses=target.warehouses,
        id=sending.id,
    )


def _with_a_way_out(error: EngineError, pipeline: str, connector: Connector) -> EngineError:
    """Only a user can say how an output goes on whose difference can't be told any more, since a version is gone, or whose
    sink another one has written to."""
    command = f"reconcile connector seek {pipeline} {connector.qualified_name}"
    hint = (
        f"to clear its sink and send all rows: {command} --to snapshot; to skip the rows that it missed: "
        f"{command} --to latest"
    )
    if isinstance(error, AnotherEmission):
        hint = (
            "if the warehouse is a copy, give this output another address, apply, and send all rows there: "
            f"{command} --to snapshot; if its registry was restored from a backup, then {hint}"
        )
    elif error.code not in _NOT_READABLE:
        return error
    return EngineError(error.code, error.message, hint)


def _outputs(program: Program) -> list[tuple[str, Connector]]:
    return list(outputs_of(program).items())
