"""Ask the server of a repository for work, from a process that goes on meanwhile: the service over HTTP asks so.

What is asked for lives as long as its `Working`: closing that kills the work, as the death of this process does.
"""

import os
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from reconciler.base.errors import ReconcileError
from reconciler.server.client import connected, own_code
from reconciler.server.messages import receive, send
from reconciler.server.places import Place

KILLED: Final = 128
"""Added to the number of the signal that ended some work: the exit code that shells tell of it."""
_MASK: Final = 0o022


class Working:
    """Work that goes on in a process of the server's."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def wait(self) -> int | None:
        """Wait until the work has ended; its exit code. None: nobody knows, since the server, or this, ended it."""
        try:
            end = receive(self._connection)
        except (OSError, ValueError):
            end = None
        match end:
            case {"exit": int(code)}:
                return code
            case {"killed": int(number)}:
                return KILLED + number
        return None

    def ask_to_end(self) -> None:
        """Send the work a SIGTERM."""
        with self._sending, suppress(OSError):
            send(self._connection, {"signal": int(signal.SIGTERM)})

    def kill(self) -> None:
        """Kill the work. `wait` then gives None."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of work that has ended; kill it if it has not."""
        self._connection.close()


def ask(place: Place, folder: Path, arguments: Sequence[str], output: int, told: int) -> Working:
    """Have the server at a place do some work, in a folder and with the environment of this process. Its standard output
    and error go to two open files, which stay the caller's to close; it has no input. Raises ReconcileError (U862)."""
    connection = connected(place)
    if connection is None:
        raise _gone()
    nothing = os.open(os.devnull, os.O_RDONLY)
    request = {
        "code": own_code(),
        "arguments": list(arguments),
        "folder": str(folder),
        "environment": dict(os.environ),
        "mask": _MASK,
        "limits": {},
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "streams": [["utf-8", "strict"], ["utf-8", "surrogateescape"], ["utf-8", "backslashreplace"]],
    }
    try:
        send(connection, request, [nothing, output, told])
        answer = receive(connection)
    except (OSError, ValueError):
        answer = None
    finally:
        os.close(nothing)
    if answer is None or "refused" in answer:
        connection.close()
        raise _gone()
    return Working(connection)


def _gone() -> ReconcileError:
    return ReconcileError("U862", "the server of this repository takes no work: it is ending", "start it again, and repeat")
