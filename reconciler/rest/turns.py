"""Turns: what needs Spark for a moment is done a few at a time, so that many who ask at once wait for each other and not for
a machine that does everything at once.

- Starts (`StartingTurn`). A process that starts a pipeline holds a lock while it applies and warms Spark; the kernel takes
  the lock from whoever dies. Who takes long lets the next one start all the same: small pipelines don't wait for large
  bootstraps. Who waits is asked now and then whether he still wants to start.
- Requests (`Gate`). Queries and statements each have a process. So many queries work at once, and of each pipeline one
  statement, in the order in which they came: a statement may wait long for the run of its pipeline, and holds up no query.
  A request makes room when the first of its answer is there, since the rest needs no Spark. Of all that wait, work or
  are being read there are so many, and of statements on one pipeline, with those that wait for it to be resumed, fewer:
  so they take no query its place. Who comes then is told to come again (503, `Busy`).
"""

import fcntl
import os
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.rest.errors import Refused

_AT_ONCE: Final = max(2, os.cpu_count() or 1)
_MOST_REQUESTS: Final = 100
_MOST_STATEMENTS: Final = 20
_QUERIES: Final = ""
_POLL_SECONDS: Final = 0.1
_LONGEST_TURN_SECONDS: Final = 30.0


class StartingTurn:
    """The turn of a process to start a pipeline; over when `end` is called, when it took long, or with the process."""

    def __init__(self, descriptor: int, longest: float) -> None:
        self._descriptor: int | None = descriptor
        self._ending = threading.Lock()
        self._timer = threading.Timer(longest, self.end)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Let another one start."""
        self._timer.cancel()
        with self._ending:
            if self._descriptor is not None:
                # Closing is not enough where this process has forked.
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
                os.close(self._descriptor)
                self._descriptor = None


def wait_for_turn(
    folder: Path, gives_up: Callable[[], bool], at_once: int = _AT_ONCE, longest: float = _LONGEST_TURN_SECONDS
) -> StartingTurn | None:
    """Wait until this process may start a pipeline; None: it gave up. `folder` is where the locks are, which exists."""
    while not gives_up():
        for number in range(at_once):
            descriptor = os.open(folder / f"starting-{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            return StartingTurn(descriptor, longest)
        time.sleep(_POLL_SECONDS)
    return None


@dataclass(slots=True)
class _Line:
    """Those who work, by number, and those who wait for them."""

    working: int = 0
    waiting: deque[threading.Lock] = field(default_factory=deque)


class Gate:
    """See the module: `at_once` queries work, `most` requests are inside, and so many statements on a pipeline.

    An answer that nobody reads on is let go by the garbage collector, in whichever thread it comes up, be it one that
    holds the lock. So who gives a place back waits for nothing: he writes that down, and whoever has the lock sees to it."""

    def __init__(
        self, at_once: int = 2 * _AT_ONCE, most: int = _MOST_REQUESTS, most_statements: int = _MOST_STATEMENTS
    ) -> None:
        self._at_once, self._most, self._most_statements = at_once, most, most_statements
        self._lock = threading.Lock()
        self._lines: defaultdict[str, _Line] = defaultdict(_Line)
        self._inside = 0
        self._statements: Counter[str] = Counter()
        self._given_back: deque[str | None] = deque()

    @contextmanager
    def statement(self, pipeline: str) -> Iterator[None]:
        """Be one of the statements on a pipeline, whatever this one waits for. Raises Refused where they are too many."""
        with self._alone():
            if self._statements[pipeline] >= self._most_statements:
                message = f"{self._most_statements} statements on pipeline {pipeline} wait or work: come again in a moment"
                raise Refused(503, "Busy", message)
            self._statements[pipeline] += 1
        try:
            yield
        finally:
            with self._alone():
                self._statements[pipeline] -= 1
                if not self._statements[pipeline]:
                    del self._statements[pipeline]

    def enter(self, changes: str = _QUERIES) -> "Admitted":
        """Come in with a query, or with a statement that changes this pipeline, and wait for a place to work. Raises Refused
        where too many are inside."""
        turn = threading.Lock()
        turn.acquire()
        with self._alone():
            if self._inside >= self._most:
                message = f"{self._most} queries and statements are being answered: come again in a moment"
                raise Refused(503, "Busy", message)
            self._inside += 1
            line = self._lines[changes]
            if line.working < (1 if changes else self._at_once):
                line.working += 1
                turn.release()
            else:
                line.waiting.append(turn)
        turn.acquire()
        return Admitted(self, changes)

    def free(self, changes: str) -> None:
        """Let the next one of a line work."""
        self._given_back.append(changes)
        self._see_to_what_is_given_back()

    def leave(self) -> None:
        """Make room for one who comes."""
        self._given_back.append(None)
        self._see_to_what_is_given_back()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with self._lock:
                self._take_back()
                yield
        finally:
            self._see_to_what_is_given_back()

    def _see_to_what_is_given_back(self) -> None:
        # Who finds the lock taken leaves it to its holder, who looks again when he has let go.
        while self._given_back and self._lock.acquire(blocking=False):
            try:
                self._take_back()
            finally:
                self._lock.release()

    def _take_back(self) -> None:
        while self._given_back:
            changes = self._given_back.popleft()
            if changes is None:
                self._inside -= 1
                continue
            line = self._lines[changes]
            if line.waiting:
                line.waiting.popleft().release()
                continue
            line.working -= 1
            if not line.working:
                del self._lines[changes]


class Admitted:
    """One who was let in. He works first, then only hands over his answer, then leaves. Each may be said more than once."""

    def __init__(self, gate: Gate, changes: str) -> None:
        self._gate, self._changes = gate, changes
        self._works, self._is_inside = True, True

    def has_worked(self) -> None:
        """What is left to do needs no Spark."""
        if self._works:
            self._works = False
            self._gate.free(self._changes)

    def leave(self) -> None:
        """All is over."""
        self.has_worked()
        if self._is_inside:
            self._is_inside = False
            self._gate.leave()
