"""Stopping a run from another process: ask, wait until it has let go; by force, see to it that it does.

A run that is asked finishes its step, writes a checkpoint and lets go of the lease. By force it drops the step instead: it
ends itself as soon as it hears of it; one on this host that does not hear (it hangs, it is suspended) is killed. Whoever
stopped a run by force then takes its lease for a moment, which bars whatever of it may still be on its way, and tells that
the pipeline was stopped. The step that was dropped is replayed by the next run.
"""

import os
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NoReturn

from reconciler.base.dataclass import dataclass
from reconciler.base.digest import JsonObject
from reconciler.base.errors import LeaseHeld, ReconcileError
from reconciler.base.moments import this_moment
from reconciler.environment.target import Target
from reconciler.registry.model import Lease
from reconciler.registry.protocol import Registry
from reconciler.state.controls import ask_to_stop, take_away_stop
from reconciler.state.events import Event, EventLog
from reconciler.state.lease import hold_lease, is_alive, is_free, this_process, time_to_live_seconds
from reconciler.state.lifecycle import ENDED, State

PATIENCE_SECONDS = 10.0
"""How long a run may take to end itself by force, before it is killed or, on another host, given up."""

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The process that runs a pipeline, or that waits to go on with it."""

    host: str
    process: str
    since: str


def live_run(registry: Registry, pipeline: str) -> LiveRun | None:
    """The live run of a pipeline, if there is one: it holds the lease, or has handed it over and waits."""
    here, found = this_process("status").host, registry.document(pipeline, Lease)
    if found is not None and found.value.command == "run" and not is_free(found.value, datetime.now(UTC), here):
        return LiveRun(found.value.host, found.value.process, found.value.since)
    report = registry.report(pipeline)
    if report is not None and report_is_alive(report, here) and found is not None and found.value.command != "run":
        return LiveRun(report["host"], report["process"], report["started_at"])
    return None


def report_is_alive(report: JsonObject, here: str) -> bool:
    """Whether the run that wrote a report still lives, as far as this host can tell."""
    if report.get("state") in list(ENDED) or report.get("host") != here:
        return False
    return is_alive(str(report.get("process")))


def stop_run(
    target: Target,
    pipeline: str,
    by: str,
    *,
    force: bool = False,
    tell: Callable[[str], None] = lambda message: None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> bool:
    """Stop the live run of a pipeline and wait until it has let go. False: there was none. Raises ReconcileError (A510)."""
    registry = target.registry
    run = live_run(registry, pipeline)
    if run is None:
        return False
    ask_to_stop(registry, pipeline, by, forced=force)
    pid = run.process.partition(":")[0]
    tell(f"asked the run of {pipeline} (process {pid} on {run.host}) to {'stop at once' if force else 'stop'}")
    here = this_process("stop").host
    # One on another host that ended says so here only by a lease that is renewed no more.
    kill_at = time.monotonic() + patience_seconds + (0 if run.host == here else time_to_live_seconds())
    while (now := live_run(registry, pipeline)) is not None and now.process == run.process:
        if force and time.monotonic() >= kill_at:
            if run.host != here:
                raise ReconcileError(
                    "A510",
                    f"the run of {pipeline} (process {pid} on {run.host}) does not stop",
                    f"end that process on {run.host}; its lease ends a minute later",
                )
            tell(f"process {pid} does not stop; killing it")
            _kill(run.process)
        time.sleep(_POLL_SECONDS)
    if force:
        _clear_up(target, pipeline, run, by)
    take_away_stop(registry, pipeline)
    return True


def end_this_process(code: int) -> NoReturn:
    """End this process with that exit code, and all that it started, now. For a run that is stopped by force."""
    for child in _descendants(os.getpid()):
        _signal(child)
    os._exit(code)


def _kill(process: str) -> None:
    pid = int(process.partition(":")[0])
    children = _descendants(pid)
    if is_alive(process):
        _signal(pid)
    for child in children:
        _signal(child)
    while is_alive(process):
        time.sleep(_POLL_SECONDS)


def _clear_up(target: Target, pipeline: str, run: LiveRun, by: str) -> None:
    """Bar what may still come of the run, and tell that it was stopped."""
    try:
        with hold_lease(target.registry, pipeline, this_process("stop")):
            report: dict[str, Any] = dict(target.registry.report(pipeline) or {})
            if report.get("process") == run.process and report.get("state") in list(ENDED):
                # It heard of it between two steps, ended in good order and told so itself.
                return
            target.registry.update_report(pipeline, lambda before: _stopped(before or {}, run.process))
            EventLog(target.registry, pipeline).record(Event.RUN_STOPPED, details={"forced": True, "by": by})
    except LeaseHeld:
        # Somebody was faster, and has barred it.
        return


def _stopped(report: JsonObject, process: str) -> JsonObject | None:
    """The report of a run that was stopped by force; None: it is not of that one."""
    if report.get("process") != process:
        return None
    now = this_moment()
    return {**report, "state": State.STOPPED.value, "since": now, "updated_at": now}


def _descendants(pid: int) -> list[int]:
    """All processes that a process started, and those that these started; where the kernel tells."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        return found
    return [*found, *(inner for child in found for inner in _descendants(child))]


def _signal(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
