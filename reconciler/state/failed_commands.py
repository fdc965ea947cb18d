"""Commands that failed: what `status` and the event log say of an apply, a rollback, a promotion or a restore that ended
with an error.

Rules:
- A failure is what the engine, the registry or the machine refused, or a mistake of ours. What was refused for want of an
  approval, or because of what stands in the files, touched nothing, and is none.
- It stands in the report, beside what the last run told of itself, until another run begins or a command of these succeeds.
  While a run is live it stands in the event log only: that run tells how the pipeline is.
- One that was killed tells nothing: its lease, which nobody let go, does (`died`). A command that succeeds without needing
  the lease, since nothing was to do, lets go of it.
- Of two that failed at once the later one stands there, and what a run told of itself meanwhile stays.
- Like all that is told, it decides nothing; what can't be written holds up nobody, least of all the error.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError, LeaseHeld, ReconcileError, RegistryError, SetUpMissing
from reconciler.base.moments import this_moment
from reconciler.registry.model import Lease
from reconciler.registry.protocol import Registry
from reconciler.state.events import Event, EventLog
from reconciler.state.lease import hold_lease, is_free, this_process
from reconciler.state.lifecycle import State
from reconciler.state.stopping import report_is_alive

FAILED_COMMAND: Final = "failed_command"
RESTORING: Final = "checkpoint restore"
_CAN_FAIL: Final = frozenset({"run", "apply", RESTORING})


@dataclass(frozen=True, slots=True)
class FailedCommand:
    """A command that ended with an error, or (no error) died; `at` is when, or when it had begun."""

    command: str
    host: str
    at: str
    error: JsonObject | None


@contextmanager
def telling_of_failure(
    registry: Registry, pipeline: str, command: str, event: Event, tell: Callable[[str], None] = lambda message: None
) -> Iterator[None]:
    """Tell that the body failed, if it does; forget an earlier failure when it does not."""
    try:
        yield
    except Exception as error:
        failure = as_failure(error)
        if failure is not None:
            _record(registry, pipeline, command, event, failure, tell)
        raise
    else:
        with suppress(RegistryError, OSError):
            _let_go_of_the_dead(registry, pipeline)
            registry.update_report(pipeline, _without_failures)


def _without_failures(before: JsonObject | None) -> JsonObject | None:
    """The report without a command that failed, and of a run that ended with an error as of one that ended; None: it says
    nothing of that."""
    report = before or {}
    found = {key: value for key, value in report.items() if key != FAILED_COMMAND}
    if found.get("state") == State.FAILED.value:
        found |= {"state": State.STOPPED.value, "error": None}
    return None if found == report else found


def as_failure(error: Exception) -> ReconcileError | None:
    """The error as one with a code, if it is a failure; None: what was asked for was refused."""
    match error:
        case EngineError() | RegistryError() | SetUpMissing():
            return error
        case ReconcileError():
            return None
        case _:
            return unexpected(error)


def unexpected(error: Exception) -> ReconcileError:
    """A mistake of ours, with a code."""
    return ReconcileError("U890", f"unexpected error: {type(error).__name__}: {error}")


def error_to_json(error: ReconcileError, at: str) -> JsonObject:
    """An error as a report has it."""
    return {"code": error.code, "message": error.message, "hint": error.hint, "at": at}


def told_failure(report: JsonObject) -> FailedCommand | None:
    """What a report says of a command that failed."""
    told = report.get(FAILED_COMMAND)
    return None if told is None else FailedCommand(told["command"], told["host"], told["error"]["at"], told["error"])


def died(lease: Lease | None) -> FailedCommand | None:
    """The command that held a lease which is free, if it died: it did not let go."""
    if lease is None or lease.released or lease.command not in _CAN_FAIL:
        return None
    return FailedCommand(lease.command, lease.host, lease.since, None)


def _let_go_of_the_dead(registry: Registry, pipeline: str) -> None:
    """Take over the lease of a command that died, and let it go. Only a takeover bars a holder who comes back after all."""
    stored, us = registry.document(pipeline, Lease), this_process("apply")
    if stored is not None and died(stored.value) and is_free(stored.value, datetime.now(UTC), us.host):
        # Somebody who was faster has it now, and it is told of him.
        with suppress(LeaseHeld), hold_lease(registry, pipeline, us, wait_seconds=0):
            pass


def _record(
    registry: Registry,
    pipeline: str,
    command: str,
    event: Event,
    failure: ReconcileError,
    tell: Callable[[str], None],
) -> None:
    now, here = this_moment(), this_process(command).host
    told = {"command": command, "host": here, "error": error_to_json(failure, now)}

    def with_failure(before: JsonObject | None) -> JsonObject | None:
        report = before or {}
        known = told_failure(report)
        if report_is_alive(report, here) or (known is not None and known.at > now):
            return None
        return {**report, FAILED_COMMAND: told}

    details = {"command": command, "code": failure.code, "message": failure.message}
    EventLog(registry, pipeline, tell).record(event, details=details)
    with suppress(RegistryError, OSError):
        registry.update_report(pipeline, with_failure)
