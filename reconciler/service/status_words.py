"""The line of a status that says what goes on in a pipeline, or why nothing does and what to do."""

from reconciler.base.dataclass import dataclass
from reconciler.registry.entries import EntryState
from reconciler.registry.model import Head, Lease
from reconciler.service.status_model import RunStatus
from reconciler.state.failed_commands import FailedCommand
from reconciler.state.lifecycle import State


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a pipeline. `run` is what the last run told of itself, `refusal` why the pending plan would not be
    applied (empty: it would), `failed` the last command that failed if nobody works on the pipeline."""

    state: State
    head: Head | None
    lease: Lease | None
    run: RunStatus | None
    refusal: str
    failed: FailedCommand | None
    is_paused: bool


def describe_state(seen: Seen) -> str:
    """What goes on, or why nothing does and what to do, in a line; empty where the state says it all."""
    lease, run = seen.lease, seen.run
    if lease is not None:
        doing = _doing(seen.head, run) if run is None or run.error is None else ""
        return f"`reconcile {lease.command}` on {lease.host} since {lease.since}{doing}{_trouble(run)}"
    if run is not None and run.alive:
        return f"the run on {run.host} waits until an apply is finished"
    return "; ".join(part for part in (_why_idle(seen), "the next run starts paused" if seen.is_paused else "") if part)


def _why_idle(seen: Seen) -> str:
    """What there is to say of a pipeline on which nobody works."""
    head, run, failed = seen.head, seen.run, seen.failed
    if head is not None and head.journal is not None:
        done = sum(entry.state is EntryState.DONE for entry in head.journal.entries)
        why = (
            f"{failed.error['code']}: {failed.error['message']}; " if failed is not None and failed.error is not None else ""
        )
        return f"{why}an apply was interrupted after {done} of {len(head.journal.entries)} steps; run: reconcile apply"
    if head is not None and head.intent is not None:
        return f"step {head.intent.step} was interrupted; the next run replays it"
    if failed is not None:
        return _failed(failed)
    if seen.state is State.FAILED and run is not None:
        return _failure(run)
    if seen.refusal:
        return seen.refusal
    if head is None or head.applied is None:
        return "never applied"
    if head.applied.record is None:
        return "removed"
    return ""


def _doing(head: Head | None, run: RunStatus | None) -> str:
    """What is under way: of an apply the step of its plan, of a run what its step writes now."""
    if head is not None and head.journal is not None:
        entries = head.journal.entries
        done = sum(entry.state is EntryState.DONE for entry in entries)
        current = next((entry for entry in entries if entry.state is not EntryState.DONE), None)
        return "" if current is None else f"; {done + 1} of {len(entries)}: {current.step.describe()}"
    if run is None or not run.alive or run.doing is None:
        return ""
    doing = run.doing
    return f"; step {doing['step']}, {doing['number']} of {doing['of']}: {doing['what']} since {doing['since']}"


def _failed(failed: FailedCommand) -> str:
    if failed.error is None:
        return f"`reconcile {failed.command}` on {failed.host} died; it began at {failed.at}"
    return f"{failed.error['code']}: {failed.error['message']} (`reconcile {failed.command}` at {failed.at})"


def _failure(run: RunStatus) -> str:
    if run.error is None:
        return f"the run on {run.host} died after {run.updated_at}"
    return f"{run.error['code']}: {run.error['message']} (since {run.since})"


def _trouble(run: RunStatus | None) -> str:
    if run is None or not run.alive or run.error is None:
        return ""
    return f"; {run.error['code']}: {run.error['message']}; trying again"
