"""Hand a command to the server of its repository, if one answers.

The command works on this process's terminal and files; this process waits, hands on the signals that it gets, and ends as
the command ends. Where no server answers, or one that has other code, the command is run here as ever.
"""

import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final

from reconciler.base.errors import ReconcileError
from reconciler.server.places import Place, place_of, repository_named

_HANDED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH)
_PACKAGE: Final = Path(__file__).resolve().parents[1]


def run_served(arguments: Sequence[str]) -> int | None:
    """Run a command by the server of its repository; None where there is none for it. Raises
    ReconcileError (U862) where the server took it and is gone."""
    connection = _connected(repository_named(arguments))
    if connection is None:
        return None
    with connection:
        return _followed(connection, arguments)


def _connected(start: Path) -> socket.socket | None:
    """A connection to the server of the repository at or above a folder."""
    with suppress(OSError):
        for folder in (start.resolve(), *start.resolve().parents):
            place = place_of(folder)
            if place.commands.exists():
                return connected(place)
    return None


def connected(place: Place) -> socket.socket | None:
    """A connection to the server at a place; None where nobody listens, or somebody else."""
    if not place.is_own():
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(place.commands))
    except OSError:
        connection.close()
        return None
    if not is_of_this_user(connection):
        connection.close()
        return None
    return connection


def is_of_this_user(connection: socket.socket) -> bool:
    """Whether the other end of a local socket is a process of this user, where the kernel tells. The folder keeps others
    out as well."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(user == os.getuid())


def _is_ignored(number: int) -> bool:
    return signal.getsignal(number) == signal.SIG_IGN


def request(arguments: Sequence[str]) -> dict[str, Any]:
    """What a server has to know to run a command as it would run here."""
    return {
        "code": own_code(),
        "arguments": list(arguments),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "mask": _mask(),
        "limits": {
            name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")
        },
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "streams": [[stream.encoding, stream.errors] for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }


def own_code() -> list[str]:
    """Which interpreter and which sources this process runs."""
    return [sys.executable, str(_PACKAGE)]


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _followed(connection: socket.socket, arguments: Sequence[str]) -> int | None:
    from reconciler.server.messages import receive, send

    if any(stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return None
    try:
        send(connection, request(arguments), [0, 1, 2])
        answer = receive(connection)
    except (OSError, ValueError):
        return None
    if answer is None or "refused" in answer:
        return None

    def hand_on(number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            send(connection, {"signal": number})

    def stop_both(number: int, frame: FrameType | None) -> None:
        hand_on(signal.SIGSTOP, frame)
        os.kill(os.getpid(), signal.SIGSTOP)
        hand_on(signal.SIGCONT, frame)

    # What this process was started to ignore (`nohup`, a shell's `&`), the command ignores.
    before = {number: signal.signal(number, hand_on) for number in _HANDED_ON if not _is_ignored(number)}
    if not _is_ignored(signal.SIGTSTP):
        before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, stop_both)
    try:
        end = receive(connection)
    except (OSError, ValueError):
        end = None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    match end:
        case {"exit": int(code)}:
            return code
        case {"killed": int(killer)}:
            # Whoever waits for this process is told the same.
            if killer != signal.SIGKILL:
                signal.signal(killer, signal.SIG_DFL)
            os.kill(os.getpid(), killer)
            signal.pause()
    raise ReconcileError("U862", "the server ended while the command ran", "run the command again: that is safe")
