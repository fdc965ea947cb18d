"""The life cycle of a pipeline as one state machine: a closed set of states, a table of transitions, one way to tell them.

A run moves through the table and tells where it stands in its report; `state_of` tells the state of any pipeline from what
can be seen of it: who holds its lease, what the last run told, what was left open, what awaits approval. Nobody stores a
state that could be stale: that of a run counts only while the run lives. The table in docs/running.md is this one; a test
compares them. Pure.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from reconciler.base.dataclass import dataclass


class State(StrEnum):
    """Where a pipeline stands."""

    STOPPED = "Stopped"
    AWAITING_APPROVAL = "AwaitingApproval"
    INITIALIZING = "Initializing"
    REPLAYING = "Replaying"
    RUNNING = "Running"
    PAUSED = "Paused"
    BOOTSTRAPPING = "Bootstrapping"
    STOPPING = "Stopping"
    FAILED = "Failed"


class Happening(StrEnum):
    """What moves a pipeline from one state to the next."""

    CHANGE = "the files contain a change that is not approved"
    APPROVE = "the change is approved or reverted"
    RUN = "a run takes the lease"
    FIND = "the run finds an unfinished step"
    READY = "the run is ready"
    HOLD = "the run is ready, and the pipeline is paused"
    PAUSE = "`reconcile pause`"
    RESUME = "`reconcile resume`"
    APPLY = "an apply takes the lease"
    APPLIED = "the apply ends, and no run continues"
    STOP = "`reconcile stop`, a signal, or the end of `--once`"
    END = "the run releases the lease"
    FAIL = "the run or the apply fails or dies"


TRANSITIONS: Final[Mapping[State, Mapping[Happening, State]]] = {
    State.STOPPED: {
        Happening.CHANGE: State.AWAITING_APPROVAL,
        Happening.RUN: State.INITIALIZING,
        Happening.APPLY: State.BOOTSTRAPPING,
    },
    State.AWAITING_APPROVAL: {
        Happening.APPROVE: State.STOPPED,
        Happening.RUN: State.INITIALIZING,
        Happening.APPLY: State.BOOTSTRAPPING,
    },
    State.INITIALIZING: {
        Happening.FIND: State.REPLAYING,
        Happening.READY: State.RUNNING,
        Happening.HOLD: State.PAUSED,
        Happening.APPLY: State.BOOTSTRAPPING,
        Happening.STOP: State.STOPPING,
        Happening.FAIL: State.FAILED,
    },
    State.REPLAYING: {
        Happening.READY: State.RUNNING,
        Happening.HOLD: State.PAUSED,
        Happening.STOP: State.STOPPING,
        Happening.FAIL: State.FAILED,
    },
    State.RUNNING: {
        Happening.PAUSE: State.PAUSED,
        Happening.APPLY: State.BOOTSTRAPPING,
        Happening.STOP: State.STOPPING,
        Happening.FAIL: State.FAILED,
    },
    State.PAUSED: {
        Happening.RESUME: State.RUNNING,
        Happening.APPLY: State.BOOTSTRAPPING,
        Happening.STOP: State.STOPPING,
        Happening.FAIL: State.FAILED,
    },
    State.BOOTSTRAPPING: {
        Happening.RUN: State.INITIALIZING,
        Happening.APPLIED: State.STOPPED,
        Happening.STOP: State.STOPPING,
        Happening.FAIL: State.FAILED,
    },
    State.STOPPING: {
        Happening.END: State.STOPPED,
        Happening.FAIL: State.FAILED,
    },
    State.FAILED: {
        Happening.RUN: State.INITIALIZING,
        Happening.APPLY: State.BOOTSTRAPPING,
    },
}
"""From each state: what may happen, and where it leads. Nothing else can happen there."""

MEANING: Final[Mapping[State, str]] = {
    State.STOPPED: "no process writes",
    State.AWAITING_APPROVAL: "no process writes, and the files contain a change that is not approved",
    State.INITIALIZING: "a run reads the applied program",
    State.REPLAYING: "a run repeats a step that a dead process left unfinished",
    State.RUNNING: "a run reads input as it comes, or a statement runs",
    State.PAUSED: "a run holds the lease and reads no input; outputs finish",
    State.BOOTSTRAPPING: "an apply runs; a live run waits for it",
    State.STOPPING: "a run finishes its step, writes a checkpoint and ends",
    State.FAILED: "no process writes; the last run, apply or restore failed or died",
}

ENDED: Final = (State.STOPPED, State.FAILED)
"""The states in which a run is no more."""


def after(state: State, happening: Happening) -> State:
    """Where a happening leads. Raises ValueError for what can't happen in that state."""
    to = TRANSITIONS[state].get(happening)
    if to is None:
        raise ValueError(f"a pipeline in state {state.value} can't go through: {happening.value}")
    return to


@dataclass(frozen=True, slots=True)
class Evidence:
    """What can be seen of a pipeline.

    `command` is what holds the lease alive, if anything does. `told` is the state that the last run told, `told_alive`
    whether that run still lives. `stop_wanted`: somebody asked it to stop. `apply_open` and `step_open`: a journal or an
    intent is in the head. `refused`: apply would refuse the files for want of an approval. `command_failed`: the last apply
    or restore ended with an error, or whatever held the lease last died.
    """

    command: str | None = None
    told: State | None = None
    told_alive: bool = False
    stop_wanted: bool = False
    apply_open: bool = False
    step_open: bool = False
    refused: bool = False
    command_failed: bool = False


def state_of(seen: Evidence) -> State:
    """The state of a pipeline, from what can be seen of it."""
    if seen.command == "apply":
        return State.BOOTSTRAPPING
    if seen.command == "run" or (seen.command is None and seen.told_alive and seen.told not in (None, *ENDED)):
        told = seen.told if seen.told_alive and seen.told is not None and seen.told not in ENDED else State.INITIALIZING
        return State.STOPPING if seen.stop_wanted else told
    if seen.command is not None:
        return State.RUNNING
    # A run that ended as it should has told so; one that tells of a live state and lives no more has died.
    if (
        seen.apply_open
        or seen.command_failed
        or seen.told not in (None, State.STOPPED)
        or (seen.step_open and seen.told is None)
    ):
        return State.FAILED
    return State.AWAITING_APPROVAL if seen.refused else State.STOPPED
