"""The writer lease of a pipeline: one process at a time applies, runs or executes.

Rules:
- A lease is taken by compare-and-set on its document, renewed by a thread, released at the end. It is free when nobody
  holds it, when it was released, when it expired, or when its holder's process is gone from this very host (`this_host`).
- Taking over a lease that was not released raises the epoch and writes it into the head. Whoever lost the lease holds a
  head token that is no longer the newest, so nothing of what it still does can be recorded or published.
- If the head has an open step, and its writer is not known to be dead (it is on another host, or stopped on this one), the
  same write marks the step withdrawn: what the writer did is put back and what it still does is barred (`withdrawing`).
  Who is dead does nothing any more: its step is replayed. That is judged of the step's writer, as its intent names it, and
  not of the lease's holder: a process that died while taking over must not vouch for the one that it took over from.
- A holder that was stopped for long (SIGSTOP, a suspended machine) may have lost the lease without knowing. `check` asks by
  its own clocks, both of them, and renews when it is late: before each effect.
- One who wants the lease of a live `run` asks for it (`handover_to`); the run sees that at its next renewal or step
  boundary and lets go between steps. Other holders are not asked: who holds it for a moment is waited for, and a statement
  (`execute`) by statements, applies, runs and transactions, for two minutes at most, however long they would wait for a run.
  Who waits so says so; of the others the error says who they are and since when they hold it.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EngineError, LeaseHeld, RegistryConflict, RegistryError
from reconciler.base.moments import moment_of
from reconciler.registry.intents import Intent, Writer
from reconciler.registry.model import Lease, Stored
from reconciler.registry.protocol import Registry

TIME_TO_LIVE_SECONDS = 60.0
HANDOVER_WAIT_SECONDS = 120.0
_MOMENT_WAIT_SECONDS = 10.0
_FOR_A_MOMENT = frozenset({"connector", "prune", "stop"})
"""Commands that write something down under the lease, and let go."""
_STATEMENT = "execute"
_WAIT_FOR_STATEMENTS = frozenset({"apply", "connector", "run", _STATEMENT})
_POLL_SECONDS = 0.2
_OF_THIS_HOST = ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid")

_works_for: int | None = None
"""The process in whose name this one writes, where it is not its own."""

_SECONDS_VARIABLE = "RECONCILE_LEASE_SECONDS"
"""Another time to live, for tests of takeovers; it has no other use."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks: an id of its own, the command it runs, and where."""

    id: str
    command: str
    host: str
    process: str


def this_process(command: str) -> Holder:
    """The holder that this process is."""
    writer = this_writer()
    return Holder(str(uuid.uuid4()), command, writer.host, writer.process)


def this_writer() -> Writer:
    """This process, as an intent names who wrote it; or the process that it works for."""
    pid = _works_for or os.getpid()
    return Writer(this_host(), f"{pid}:{_started(pid)}")


def work_for(pid: int) -> None:
    """From now on this process writes in the name of another, which lives until all is over that this one began: also what
    goes on in a Spark that outlives this one."""
    global _works_for
    _works_for = pid


@cache
def this_host() -> str:
    """Where processes can be told by their numbers: the machine since it was started, and the container in it. Two of them
    may have one name, and then who is alive in the one is not to be found in the other."""
    known = "".join(_told(path) for path in _OF_THIS_HOST)
    return f"{socket.gethostname()} ({sha256(known.encode()).hexdigest()[:6]})" if known else socket.gethostname()


def _told(path: str) -> str:
    """What the kernel tells in a file or by a link; nothing where there is no such."""
    with suppress(OSError):
        return os.readlink(path)
    with suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
        return file.read()
    return ""


def _started(pid: int) -> str:
    """When a process started, as the kernel counts it: tells a process from a later one of the same number."""
    found = _stat(pid)
    return found[19] if len(found) > 19 else "0"


def _stat(pid: int) -> list[str]:
    """What the kernel tells of a process, from its state on; nothing where it tells nothing."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def is_alive(process: str) -> bool:
    """Whether a process of this host, named by `pid:start`, still runs."""
    pid, _, started = process.partition(":")
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        return True
    # One whose end nobody has asked for yet still has its number, and does nothing any more.
    return started in ("0", _started(int(pid))) and _stat(int(pid))[:1] not in (["Z"], ["X"])


def time_to_live_seconds() -> float:
    """How long a lease is held that nobody renews."""
    return float(os.environ.get(_SECONDS_VARIABLE) or TIME_TO_LIVE_SECONDS)


def is_free(lease: Lease, now: datetime, host: str) -> bool:
    """Whether a lease can be taken without asking."""
    if lease.released or datetime.fromisoformat(lease.expires) <= now:
        return True
    return lease.host == host and not is_alive(lease.process)


def somebody_holds(registry: Registry, pipeline: str) -> bool:
    """Whether a process holds the lease that is not known to be gone."""
    found = registry.document(pipeline, Lease)
    return found is not None and not is_free(found.value, _now(), this_host())


_let_go: Final[set[str]] = set()
"""Holders of this process that let go, and could not write that down."""


class HeldLease:
    """A lease that this process holds. `lost` is set when somebody took it over; `wanted` when somebody asks for it."""

    def __init__(self, registry: Registry, pipeline: str, stored: Stored[Lease], seconds: float) -> None:
        self._registry = registry
        self._pipeline = pipeline
        self._stored = stored
        self._seconds = seconds
        self._changing = threading.Lock()
        self._stop = threading.Event()
        self._deadline = _deadline(seconds)
        self.lost = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_released, name="lease", daemon=True)
        self._thread.start()

    @property
    def epoch(self) -> int:
        return self._stored.value.epoch

    def check(self) -> None:
        """Raise LeaseHeld (A503) if another process has, or may have, taken the lease over. Looks at the clocks only, unless
        the last renewal is too long ago."""
        if not self.lost.is_set() and self._is_overdue():
            self._change(released=False)
        if self.lost.is_set():
            raise LeaseHeld("A503", f"another process took {self._pipeline} over; this process stops writing")

    def wanted(self) -> bool:
        """Whether another process asks for the lease. Reads the registry, so that a step boundary sees a fresh answer."""
        found = self._registry.document(self._pipeline, Lease)
        return found is not None and found.value.handover_to is not None

    def release(self) -> None:
        """Let go. A lease that was lost is left alone. One that can't be written runs out by itself, this process takes it
        again before that, and what its holder did is done all the same."""
        self._stop.set()
        self._thread.join()
        try:
            self._change(released=True)
        except RegistryError:
            _let_go.add(self._stored.value.holder)

    def _is_overdue(self) -> bool:
        steady, wall = self._deadline
        return time.monotonic() >= steady or time.time() >= wall

    def _renew_until_released(self) -> None:
        while not self._stop.wait(self._seconds / 3):
            # A registry that can't be reached now may be in a moment; if not, `check` says so.
            with suppress(RegistryError):
                self._change(released=False)
            if self.lost.is_set():
                return

    def _change(self, *, released: bool) -> None:
        with self._changing:
            for _ in range(10):
                found = self._registry.document(self._pipeline, Lease)
                if found is None or found.value.holder != self._stored.value.holder:
                    self.lost.set()
                    return
                # Both before the write: whoever reads it may count from an earlier moment, never from a later one.
                deadline, expires = _deadline(self._seconds), _text(_now() + timedelta(seconds=self._seconds))
                renewed = replace(found.value, expires=expires, released=released)
                try:
                    self._stored = self._registry.replace_document(self._pipeline, found.token, renewed, str(uuid.uuid4()))
                    self._deadline = deadline
                    return
                except RegistryConflict:
                    # Somebody asked for a handover, or took over: look again.
                    continue


@contextmanager
def hold_lease(
    registry: Registry,
    pipeline: str,
    holder: Holder,
    *,
    seconds: float | None = None,
    wait_seconds: float = HANDOVER_WAIT_SECONDS,
    report: Callable[[str], None] = lambda message: None,
) -> Iterator[HeldLease]:
    """Take the lease, hold it for the body, release it. Raises LeaseHeld (A503), also where the body failed because another
    process had taken the lease over."""
    if seconds is None:
        seconds = time_to_live_seconds()
    held = HeldLease(registry, pipeline, _take(registry, pipeline, holder, seconds, wait_seconds, report), seconds)
    try:
        yield held
    except (RegistryError, EngineError):
        # Whoever took over wrote first, or removed what was built here: that it did says more.
        with suppress(RegistryError):
            held.check()
        raise
    finally:
        held.release()


def _take(
    registry: Registry,
    pipeline: str,
    holder: Holder,
    seconds: float,
    wait_seconds: float,
    report: Callable[[str], None],
) -> Stored[Lease]:
    begun = time.monotonic()
    told: set[str] = set()
    while True:
        found = registry.document(pipeline, Lease)
        now = _now()
        if found is None or found.value.holder in _let_go or is_free(found.value, now, holder.host):
            try:
                return _claim(registry, pipeline, found, holder, now, seconds)
            except RegistryConflict:
                continue
        lease = found.value
        hands_over = lease.command == "run" and holder.command != "run"
        if time.monotonic() - begun >= patience(lease.command, holder.command, wait_seconds):
            raise _held(pipeline, lease)
        if not hands_over:
            if lease.command == _STATEMENT and _STATEMENT not in told:
                report(f"waiting for `{_STATEMENT}` of {pipeline} (on {lease.host} since {lease.since}) to end")
                told.add(_STATEMENT)
            time.sleep(_POLL_SECONDS)
            continue
        if lease.handover_to is None:
            try:
                registry.replace_document(pipeline, found.token, replace(lease, handover_to=holder.id), str(uuid.uuid4()))
            except RegistryConflict:
                continue
        if lease.command not in told:
            report(f"asked the live run of {pipeline} (on {lease.host} since {lease.since}) to hand over")
            told.add(lease.command)
        time.sleep(_POLL_SECONDS)


def patience(held: str, asks: str, wait_seconds: float) -> float:
    """How many seconds a command waits for another that holds the lease, which would wait `wait_seconds` for a run."""
    if held == "run" and asks != "run":
        return wait_seconds
    if held == _STATEMENT and asks in _WAIT_FOR_STATEMENTS:
        return min(wait_seconds, HANDOVER_WAIT_SECONDS)
    return _MOMENT_WAIT_SECONDS if held in _FOR_A_MOMENT else 0.0


def _claim(
    registry: Registry, pipeline: str, found: Stored[Lease] | None, holder: Holder, now: datetime, seconds: float
) -> Stored[Lease]:
    epoch = found.value.epoch + 1 if found is not None else 1
    lease = Lease(
        holder=holder.id,
        command=holder.command,
        host=holder.host,
        process=holder.process,
        epoch=epoch,
        since=_text(now),
        expires=_text(now + timedelta(seconds=seconds)),
    )
    claimed = registry.replace_document(pipeline, found.token if found else None, lease, str(uuid.uuid4()))
    if found is not None and not found.value.released:
        _fence(registry, pipeline, epoch, found.value, holder.host)
    return claimed


def _fence(registry: Registry, pipeline: str, epoch: int, former: Lease, host: str) -> None:
    """Write the epoch into the head, so that the token of whoever held the lease before is no longer the newest; withdraw
    the step that is open, unless who wrote it is dead for sure."""
    while True:
        head = registry.head(pipeline)
        if head is None or head.value.epoch >= epoch:
            return
        intent = head.value.intent
        if intent is not None and not intent.withdrawn and not _is_gone(intent, former, host):
            intent = replace(intent, withdrawn=True, taken_over=True)
        try:
            registry.replace_head(head.token, replace(head.value, epoch=epoch, intent=intent), str(uuid.uuid4()))
            return
        except RegistryConflict:
            continue


def _is_gone(intent: Intent, former: Lease, host: str) -> bool:
    # An intent that an older version wrote names nobody: then it was the lease's holder.
    writer = intent.writer or Writer(former.host, former.process)
    return writer.host == host and not is_alive(writer.process)


def _deadline(seconds: float) -> tuple[float, float]:
    """By both clocks: the steady one stands still while a machine is suspended, the other one can be set back."""
    return time.monotonic() + seconds, time.time() + seconds


def _held(pipeline: str, lease: Lease) -> LeaseHeld:
    pid = lease.process.partition(":")[0]
    return LeaseHeld(
        "A503",
        f"{pipeline} is held by `reconcile {lease.command}` (process {pid} on {lease.host}) since {lease.since}",
        f"wait for that command; if its process has died, the lease ends at {lease.expires}",
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _text(moment: datetime) -> str:
    return moment_of(moment)
