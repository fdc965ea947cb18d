"""A live run prunes by itself what the retention that is applied lets go. How a prune is safe, `pruning` says; here is when
each part of it is done, so that no step waits.

Rules:
- Only where pipeline.yaml says a retention, of the pipeline or of a relation. Where it says none, nobody asked for a prune.
- It is looked, and files are removed, by a thread that works a fifth of the time, and removes so many files at once. Only
  what needs the lease is done between two steps: a row for each folder, one write of the head.
- Who had the lease all the while decides upon the past as the look saw it: it was in nobody else's hands. So no history of
  steps is read between steps. Where the run let go of the lease meanwhile, it is looked again.
- It is looked some minutes after the run began, then about a seventh of the time that steps stay, at least each hour to day.
- Nothing of the run depends on it. What fails is told, once, and tried again later.
- A run that ends lets the thread end: what was recorded and is not removed yet, the next prune removes.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Generic, TypeVar

from reconciler.base.declarations import Retention
from reconciler.base.errors import LeaseHeld, ReconcileError, RegistryConflict
from reconciler.environment.target import Target
from reconciler.plan.impact_words import bytes_words
from reconciler.project.program.model import Program
from reconciler.retention.facts import steps_seconds
from reconciler.retention.pruning import Found, PruneRun, Pruning, find, log_pruned, record, remove_recorded
from reconciler.run.recovering import program_in_force
from reconciler.state.events import Event, EventLog
from reconciler.state.failed_commands import unexpected
from reconciler.state.lease import HeldLease

_T = TypeVar("_T")
_FIRST_SECONDS: Final = 600.0
_LEAST_SECONDS: Final = 3600.0
_MOST_SECONDS: Final = 86400.0
_AT_ONCE: Final = 1000
_PART_SECONDS: Final = 0.02
_REST: Final = 4
_MOST_REST_SECONDS: Final = 10.0
_END_SECONDS: Final = 10.0


class LivePruning:
    """The prunes beside one run; see the module. `first_seconds`: when the first is due."""

    def __init__(self, target: Target, pipeline: str, run: PruneRun, first_seconds: float = _FIRST_SECONDS) -> None:
        self._target = target
        self._pipeline = pipeline
        self._run = replace(run, pause=self._rest, at_once=_AT_ONCE)
        self._due = time.monotonic() + first_seconds
        self._wait = _LEAST_SECONDS
        self._ended = threading.Event()
        self._rested = 0.0
        self._looking: _Beside[Found | None] | None = None
        self._epoch = 0
        self._removing: _Beside[Pruning] | None = None
        self._failed = ""

    def between_steps(self, lease: HeldLease) -> bool:
        """Do what is due, and begin what takes longer. True: the head may have been replaced. Raises LeaseHeld."""
        try:
            return self._go_on(lease)
        except RegistryConflict:
            # Somebody staged a version, say: it is looked again.
            lease.check()
            self._due = time.monotonic()
            return True
        except LeaseHeld:
            raise
        except Exception as raised:
            self._tell_failure(raised if isinstance(raised, ReconcileError) else unexpected(raised))
            return True

    def end(self) -> None:
        """Begin nothing more, and wait for the part that is under way, a while."""
        self._ended.set()
        for one in (self._looking, self._removing):
            if one is not None:
                one.join(_END_SECONDS)

    def _go_on(self, lease: HeldLease) -> bool:
        if self._removing is not None:
            if self._removing.is_done:
                removing, self._removing = self._removing, None
                self._later()
                self._tell(removing.outcome())
            return False
        if self._looking is None:
            if time.monotonic() >= self._due and not self._ended.is_set():
                self._epoch = lease.epoch
                self._looking = self._begin(self._look)
            return False
        if not self._looking.is_done:
            return False
        looking, self._looking = self._looking, None
        self._later()
        found = looking.outcome()
        if found is None or found.is_nothing:
            self._failed = ""
            return False
        if lease.epoch != self._epoch:
            self._due = time.monotonic()
            return False
        self._run.boundary("prune:before")
        recorded = record(self._target, found, self._run, lease.check, is_current=True)
        self._removing = self._begin(lambda: remove_recorded(self._target, recorded, self._run))
        return True

    def _look(self) -> Found | None:
        _, program = program_in_force(self._target, self._pipeline)
        self._wait = min(max(steps_seconds(program) / 7, _LEAST_SECONDS), _MOST_SECONDS)
        return find(self._target, self._pipeline, self._run) if says_retention(program) else None

    def _begin(self, work: Callable[[], _T]) -> "_Beside[_T]":
        self._rested = time.monotonic()
        return _Beside(work)

    def _later(self) -> None:
        self._due = time.monotonic() + self._wait

    def _tell(self, done: Pruning) -> None:
        self._failed = ""
        log_pruned(self._target, done, self._run)
        if not done.is_empty:
            self._run.tell(what_went(done))

    def _tell_failure(self, error: ReconcileError) -> None:
        self._due = time.monotonic() + _LEAST_SECONDS
        if error.code != self._failed:
            self._failed = error.code
            self._run.tell(f"{error.code}: {error.message}; the run goes on, and tries to prune again in an hour")
            details = {"code": error.code, "message": error.message}
            EventLog(self._target.registry, self._pipeline, self._run.tell).record(Event.PRUNE_FAILED, details=details)

    def _rest(self) -> None:
        """Between two parts of the work: what a step needs, it has."""
        now = time.monotonic()
        worked = now - self._rested
        if worked >= _PART_SECONDS:
            self._ended.wait(min(worked * _REST, _MOST_REST_SECONDS))
            self._rested = time.monotonic()
        if self._ended.is_set():
            raise _Ended


def says_retention(program: Program) -> bool:
    """Whether pipeline.yaml says for how long rows stay."""
    said = (program.settings.retention, *program.settings.relation_retention.values())
    return any(one != Retention() for one in said)


def what_went(done: Pruning) -> str:
    """A line for people."""
    files, versions = sum(len(folder.files) for folder in done.folders), len(done.decision.pruned)
    size = bytes_words(sum(folder.bytes for folder in done.folders))
    told = f"{versions} version{'' if versions == 1 else 's'}, {files} file{'' if files == 1 else 's'} of {size}"
    since = done.decision.first_step
    return f"pruned {told}" + ("" if since is None else f"; steps can be read from {since} on (steps: {done.steps})")


class _Ended(BaseException):
    """The run ends, and so does what is done beside it."""


class _Beside(Generic[_T]):
    """Work of a thread, and what became of it."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self._result: _T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._do, name="prune", daemon=True)
        self._thread.start()

    def _do(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error

    @property
    def is_done(self) -> bool:
        """Whether there is an outcome."""
        return not self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for it so long."""
        self._thread.join(seconds)

    def outcome(self) -> _T:
        """What it gave. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]
