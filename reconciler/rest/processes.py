"""Work that a request waits for: done by a process of the server, which answers on its standard output."""

import json
import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any, Final

from reconciler.base.digest import JsonObject
from reconciler.rest.errors import Refused, Told
from reconciler.rest.shared import Service
from reconciler.rest.work import WORK, told_in
from reconciler.server.asking import Working, ask

_CHUNK: Final = 1 << 16


def answer_of(service: Service, pipeline: str, what: str, **asked: Any) -> bytes:
    """All that a process answers. Raises Refused where it fails."""
    with tempfile.TemporaryFile() as told:
        reading, working = _begun(service, pipeline, what, asked, told.fileno())
        found = bytearray()
        while chunk := os.read(reading, _CHUNK):
            found += chunk
        _ended(reading, working, told)
    return bytes(found)


def answer_in_parts(service: Service, pipeline: str, what: str, **asked: Any) -> Iterator[bytes]:
    """What a process answers, as it comes. Raises Refused where it fails before it says anything: also where nobody asks for
    a part."""
    with tempfile.TemporaryFile() as told:
        reading, working = _begun(service, pipeline, what, asked, told.fileno())
        first = os.read(reading, _CHUNK)
        if first:
            return _parts(first, reading, working)
        _ended(reading, working, told)
    return iter(())


def _begun(service: Service, pipeline: str, what: str, asked: JsonObject, told: int) -> tuple[int, Working]:
    """A process that was begun, and where its output is read."""
    target = service.target
    whole = {"root": str(target.root), "environment": target.environment.name, "pipeline": pipeline, **asked}
    reading, writing = os.pipe()
    try:
        return reading, ask(service.place, target.root, [WORK, what, json.dumps(whole)], writing, told)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)


def _ended(reading: int, working: Working, told: IO[bytes]) -> None:
    """Wait for a process that writes no more. Raises Refused where it failed."""
    os.close(reading)
    code = working.wait()
    working.close()
    told.seek(0)
    if code != 0:
        raise _failed(told_in(told.read().decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]))


def _parts(first: bytes, reading: int, working: Working) -> Iterator[bytes]:
    try:
        yield first
        while chunk := os.read(reading, _CHUNK):
            yield chunk
        working.wait()
    finally:
        # Who does not read on wants no more.
        working.close()
        os.close(reading)


def _failed(told: Told | None) -> Refused:
    if told is None:
        return Refused(500, "ProcessEnded", "the process that worked on this was killed; asking again is safe")
    return Refused(told.status, told.code, told.message, told.details)
