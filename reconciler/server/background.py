"""Start a server that goes on without whoever started it: a process of its own session, whose words go to a log.

Whoever starts it waits for one line: that Spark is there, or why the server, or its Spark, is not.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from reconciler.base.errors import ReconcileError
from reconciler.server.listening import Taken, only_server
from reconciler.server.places import Place

Ready = Callable[[str], None]
_TAKEN = "taken"


class _Starter:
    """Whoever started the server: hears one line, once."""

    def __init__(self, file: int) -> None:
        self._file: int | None = file

    def told(self, text: str) -> None:
        if self._file is None:
            return
        with suppress(OSError):
            os.write(self._file, f"{text}\n".encode("utf-8", "replace"))
        os.close(self._file)
        self._file = None


def start_in_background(place: Place, serve: Callable[[Ready], None]) -> tuple[str, str]:
    """Start a server, and wait until its Spark is there. The answer is the server's process, and why it has no Spark, if it
    has none. `serve` is run in the new process, with what is to be told that Spark is there. Raises Taken (U861), and
    ReconcileError where the server can't be started."""
    hearing, telling = os.pipe()
    if os.fork() == 0:
        os.close(hearing)
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        _serve(place, serve, _Starter(telling))
    os.close(telling)
    with os.fdopen(hearing, encoding="utf-8") as answer:
        # Spark's process holds the other end, too: there is one line, and no end.
        first, _, rest = answer.readline().strip().partition(" ")
    if first == _TAKEN:
        raise Taken("U861", rest)
    if not first.isdigit():
        raise ReconcileError(first or "U860", rest or f"the server did not start; see {place.log}")
    return first, rest


def _serve(place: Place, serve: Callable[[Ready], None], starter: _Starter) -> None:
    code = 1
    try:
        with only_server(place):
            _detach(place.log)
            serve(lambda why: starter.told(f"{os.getpid()} {why}"))
        code = 0
    except Taken as taken:
        starter.told(f"{_TAKEN} {taken.message}")
    except ReconcileError as error:
        starter.told(f"{error.code} {error.message}" + (f" ({error.hint})" if error.hint else ""))
    finally:
        os._exit(code)


def _detach(log: Path) -> None:
    """Leave the caller's terminal; what there is to say goes to the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    nothing, written = os.open(os.devnull, os.O_RDWR), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for file, replacement in ((0, nothing), (1, written), (2, written)):
        os.dup2(replacement, file)
    os.close(nothing)
    os.close(written)
