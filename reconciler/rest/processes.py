"""Work that a request waits for: done by a process of the server, which answers on its standard output. Queries and
statements take turns (`turns.Gate`)."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

from reconciler.base.digest import JsonObject
from reconciler.rest.access import asking
from reconciler.rest.errors import Refused, Told
from reconciler.rest.shared import Service
from reconciler.rest.turns import Admitted
from reconciler.rest.work import WORK, is_change, told_in
from reconciler.server.asking import Working, ask

_CHUNK: Final = 1 << 16
_TAKE_TURNS: Final = ("query", "rows")


class MustWait(Exception):
    """Who had his turn may not work now. He has left his place, and nothing was begun."""


def answer_of(service: Service, pipeline: str, what: str, **asked: Any) -> bytes:
    """All that a process answers. Raises Refused where it fails, or too many are asked for."""
    with tempfile.TemporaryFile() as told:
        answering = _begun(service, pipeline, what, asked, told.fileno(), None)
        found = bytearray()
        try:
            while chunk := answering.read():
                found += chunk
            answering.require_done(told)
        finally:
            answering.close()
    return bytes(found)


def answer_in_parts(
    service: Service, pipeline: str, what: str, may_work: Callable[[], bool] | None = None, **asked: Any
) -> Iterator[bytes]:
    """What a process answers, as it comes. Raises Refused where it fails before it says anything, also where nobody asks for
    a part; and where too many are asked for. `may_work` is asked when its turn has come: else MustWait is raised."""
    with tempfile.TemporaryFile() as told:
        answering = _begun(service, pipeline, what, asked, told.fileno(), may_work)
        try:
            first = answering.read()
            if not first:
                answering.require_done(told)
        except BaseException:
            answering.close()
            raise
    return _Parts(first, answering)


def lines_of(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of an answer, each as it comes; what follows the last end of a line is none."""
    left = b""
    for part in parts:
        *whole, left = (left + part).split(b"\n")
        yield from whole


class _Answering:
    """A process that answers: where its answer is read, and its turn, if it has one. `only_looks`: it changes nothing."""

    def __init__(self, reading: int, working: Working, admitted: Admitted | None, *, only_looks: bool) -> None:
        self._reading, self._working, self._admitted, self._only_looks = reading, working, admitted, only_looks
        self._is_open = True
        self._code: int | None = None
        self._has_ended = False

    def read(self) -> bytes:
        """The next part of the answer; nothing at its end. What comes first was found with all its rows."""
        found = os.read(self._reading, _CHUNK) if self._is_open else b""
        if self._admitted is not None:
            self._admitted.has_worked()
        return found

    def require_done(self, told: IO[bytes]) -> None:
        """Wait for a process that writes no more. Raises Refused where it failed."""
        code = self._ended()
        told.seek(0)
        if code != 0:
            line = told.read().decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]
            raise _failed(told_in(line), only_looks=self._only_looks)

    def end(self) -> None:
        """Wait for a process that writes no more. Raises Refused where it failed: what it wrote is not all."""
        if self._is_open:
            code = self._ended()
            self.close()
            if code != 0:
                raise _failed(None, only_looks=self._only_looks)

    def _ended(self) -> int | None:
        """Its exit code, which is told once."""
        if not self._has_ended:
            self._code, self._has_ended = self._working.wait(), True
        return self._code

    def close(self) -> None:
        """Let go of it; kill the process if it has not ended."""
        if self._is_open:
            self._is_open = False
            self._working.close()
            os.close(self._reading)
            if self._admitted is not None:
                self._admitted.leave()


class _Parts(Iterator[bytes]):
    """The parts of an answer. Who does not read on wants no more, be it that he never began: a generator would not hear of
    that. Where the process dies on the way, the answer ends with an error, so that nobody takes a part for the whole."""

    def __init__(self, first: bytes, answering: _Answering) -> None:
        self._first, self._answering = first, answering

    def __next__(self) -> bytes:
        found, self._first = self._first or self._answering.read(), b""
        if not found:
            self._answering.end()
            raise StopIteration
        return found

    def __del__(self) -> None:
        self._answering.close()


def _begun(
    service: Service, pipeline: str, what: str, asked: JsonObject, told: int, may_work: Callable[[], bool] | None
) -> _Answering:
    """A process that was begun, when its turn had come."""
    target = service.target
    known = {"root": str(target.root), "environment": target.environment.name, "pipeline": pipeline}
    whole = {**known, "caller": asking.get(), **asked}
    changes = what == "query" and is_change(asked["sql"])
    admitted = service.gate.enter(pipeline if changes else "") if what in _TAKE_TURNS else None
    try:
        if may_work is not None and not may_work():
            raise MustWait
        reading, writing = os.pipe()
        try:
            working = ask(service.place, target.root, [WORK, what, json.dumps(whole)], writing, told)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
    except BaseException:
        if admitted is not None:
            admitted.leave()
        raise
    return _Answering(reading, working, admitted, only_looks=admitted is not None and not changes)


def _failed(told: Told | None, *, only_looks: bool) -> Refused:
    if told is None:
        # A step or an apply that was begun is finished by whoever comes next.
        advice = (
            "asking again is safe" if only_looks else "what it began may be finished all the same: look before you repeat it"
        )
        return Refused(500, "ProcessEnded", f"the process that worked on this was killed; {advice}")
    return Refused(told.status, told.code, told.message, told.details)
