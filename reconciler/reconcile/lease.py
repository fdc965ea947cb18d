"""The writer lease of a pipeline: one process at a time applies, runs or executes.

Rules:
- A lease is taken by compare-and-set on its document, renewed by a thread, released at the end. It is free when nobody
  holds it, when it was released, when it expired, or when its holder's process is gone from this very host.
- Taking over a lease that was not released raises the epoch and writes it into the head. Whoever lost the lease holds a
  head token that is no longer the newest, so nothing of what it still does can be recorded or published.
- One who wants the lease of a live `run` asks for it (`handover_to`); the run sees that at its next renewal or step
  boundary and lets go between steps. Other holders are not asked: the error names them and since when they hold it.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from reconciler.errors import LeaseHeld, RegistryConflict
from reconciler.registry.model import Lease, Stored
from reconciler.registry.protocol import Registry

TIME_TO_LIVE_SECONDS = 60.0
HANDOVER_WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks: an id of its own, the command it runs, and where."""

    id: str
    command: str
    host: str
    process: str


def this_process(command: str) -> Holder:
    """The holder that this process is."""
    pid = os.getpid()
    return Holder(str(uuid.uuid4()), command, socket.gethostname(), f"{pid}:{_started(pid)}")


def _started(pid: int) -> str:
    """When a process started, as the kernel counts it: tells a process from a later one of the same number."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


def is_alive(process: str) -> bool:
    """Whether a process of this host, named by `pid:start`, still runs."""
    pid, _, started = process.partition(":")
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        return True
    return started in ("0", _started(int(pid)))


def is_free(lease: Lease, now: datetime, host: str) -> bool:
    """Whether a lease can be taken without asking."""
    if lease.released or datetime.fromisoformat(lease.expires) <= now:
        return True
    return lease.host == host and not is_alive(lease.process)


class HeldLease:
    """A lease that this process holds. `lost` is set when somebody took it over; `wanted` when somebody asks for it."""

    def __init__(self, registry: Registry, pipeline: str, stored: Stored[Lease], seconds: float) -> None:
        self._registry = registry
        self._pipeline = pipeline
        self._stored = stored
        self._seconds = seconds
        self._changing = threading.Lock()
        self._stop = threading.Event()
        self.lost = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_released, name="lease", daemon=True)
        self._thread.start()

    @property
    def epoch(self) -> int:
        return self._stored.value.epoch

    def wanted(self) -> bool:
        """Whether another process asks for the lease. Reads the registry, so that a step boundary sees a fresh answer."""
        found = self._registry.lease(self._pipeline)
        return found is not None and found.value.handover_to is not None

    def release(self) -> None:
        """Let go. A lease that was lost is left alone."""
        self._stop.set()
        self._thread.join()
        self._change(released=True)

    def _renew_until_released(self) -> None:
        while not self._stop.wait(self._seconds / 3):
            self._change(released=False)
            if self.lost.is_set():
                return

    def _change(self, *, released: bool) -> None:
        with self._changing:
            for _ in range(10):
                found = self._registry.lease(self._pipeline)
                if found is None or found.value.holder != self._stored.value.holder:
                    self.lost.set()
                    return
                renewed = replace(found.value, expires=_text(_now() + timedelta(seconds=self._seconds)), released=released)
                try:
                    self._stored = self._registry.replace_lease(self._pipeline, found.token, renewed, str(uuid.uuid4()))
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
    seconds: float = TIME_TO_LIVE_SECONDS,
    wait_seconds: float = HANDOVER_WAIT_SECONDS,
    report: Callable[[str], None] = lambda message: None,
) -> Iterator[HeldLease]:
    """Take the lease, hold it for the body, release it. Raises LeaseHeld (A503)."""
    held = HeldLease(registry, pipeline, _take(registry, pipeline, holder, seconds, wait_seconds, report), seconds)
    try:
        yield held
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
    deadline = time.monotonic() + wait_seconds
    told = False
    while True:
        found = registry.lease(pipeline)
        now = _now()
        if found is None or is_free(found.value, now, holder.host):
            try:
                return _claim(registry, pipeline, found, holder, now, seconds)
            except RegistryConflict:
                continue
        lease = found.value
        if lease.command != "run" or holder.command == "run" or time.monotonic() > deadline:
            raise _held(pipeline, lease)
        if lease.handover_to is None:
            try:
                registry.replace_lease(pipeline, found.token, replace(lease, handover_to=holder.id), str(uuid.uuid4()))
            except RegistryConflict:
                continue
        if not told:
            report(f"asked the live run of {pipeline} (on {lease.host} since {lease.since}) to hand over")
            told = True
        time.sleep(_POLL_SECONDS)


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
    claimed = registry.replace_lease(pipeline, found.token if found else None, lease, str(uuid.uuid4()))
    if found is not None and not found.value.released:
        _fence(registry, pipeline, epoch)
    return claimed


def _fence(registry: Registry, pipeline: str, epoch: int) -> None:
    """Write the epoch into the head, so that the token of whoever held the lease before is no longer the newest."""
    while True:
        head = registry.head(pipeline)
        if head is None or head.value.epoch >= epoch:
            return
        try:
            registry.replace_head(head.token, replace(head.value, epoch=epoch), str(uuid.uuid4()))
            return
        except RegistryConflict:
            continue


def _held(pipeline: str, lease: Lease) -> LeaseHeld:
    pid = lease.process.partition(":")[0]
    return LeaseHeld(
        "A503",
        f"{pipeline} is held by `reconcile {lease.command}` (process {pid} on {lease.host}) since {lease.since}",
        f"wait for it; if that process is gone, the lease is free after {lease.expires}",
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
