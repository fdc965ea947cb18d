"""One command of a server: its guard, and the process that does the work.

The guard is forked from the server, and the worker from the guard. The worker has the caller's folder, environment and
terminal, and runs the command as ever. The guard

- hands on the caller's signals, and kills the worker where the caller is gone without a word, as killing the caller would
  kill a command that it runs itself;
- has Spark stop what the worker began, and lives until that is over. Leases and intents name the guard as their writer:
  whoever asks whether that one is still alive asks for what goes on in Spark, too;
- tells the caller how the worker ended. Where it did not end well, that is told last: who runs the command again finds
  nothing of it left.
"""

import ctypes
import math
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn, TextIO, cast

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import EXIT_INTERRUPTED
from reconciler.server.client import is_of_this_user, own_code
from reconciler.server.messages import receive, receive_with_files, send
from reconciler.server.places import Place

Run = Callable[[list[str]], int]
Tell = Callable[[str], None]

_STREAMS: Final = 3
_SIGNALS: Final = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH, signal.SIGSTOP, signal.SIGCONT}
)
_SET_PARENT_DEATH_SIGNAL: Final = 1


@dataclass(frozen=True, slots=True)
class Served:
    """What a guard has of its server: where it is, how a command is run, how a line is told, and whether the sources are
    still those that the server runs."""

    place: Place
    server: int
    run: Run
    tell: Tell
    is_current: Callable[[], bool]


def guard(connection: socket.socket, served: Served) -> NoReturn:
    """Take a command from a connection and see it through. The process is a fork of the server, and ends here."""
    code = 1
    try:
        with suppress(OSError, ValueError, KeyError):
            _take(connection, served)
            code = 0
    finally:
        # What the server has on its stack, its sockets say, is not this process's to take down.
        os._exit(code)


def _take(connection: socket.socket, served: Served) -> None:
    connection.settimeout(10)
    if not is_of_this_user(connection):
        return
    asked, files = receive_with_files(connection, _STREAMS)
    connection.settimeout(None)
    if asked is None:
        return
    match asked:
        case {"stop": True}:
            os.kill(served.server, signal.SIGTERM)
            send(connection, {"stopped": served.server})
        case {"code": code, "arguments": [*arguments]} if code == own_code() and len(files) == _STREAMS:
            if not served.is_current():
                send(connection, {"refused": "the sources of reconciler changed"})
                os.kill(served.server, signal.SIGTERM)
                return
            _see_through(connection, served, asked, [str(word) for word in arguments], files)
        case _:
            send(connection, {"refused": "another reconciler"})


def _see_through(
    connection: socket.socket, served: Served, asked: Mapping[str, Any], arguments: list[str], files: list[int]
) -> None:
    spark = _guarded(served.place)
    send(connection, {"accepted": True})
    ended, working = os.pipe()
    guard_id = os.getpid()
    # Ctrl-C waits until the command has begun, which knows what to say.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    worker = os.fork()
    if worker == 0:
        end_with(guard_id, signal.SIGKILL)
        for one in (connection, *([spark] if spark is not None else [])):
            one.close()
        os.close(ended)
        _work(served, guard_id, asked, arguments, files)
    os.close(working)
    for file in files:
        os.close(file)
    is_asked = _hand_on_signals(connection, ended, worker)
    _, status = os.waitpid(worker, 0)
    told = {"killed": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"exit": os.WEXITSTATUS(status)}
    if status == 0 and is_asked:
        send(connection, told)
    if spark is not None:
        with suppress(OSError, ValueError):
            send(spark, {"close": str(guard_id)})
            receive(spark)
    if status != 0 and is_asked:
        send(connection, told)


def _guarded(place: Place) -> socket.socket | None:
    """A connection to Spark's process, which ends Spark if this process dies before it closes what it opened. None where
    there is no such process: then the command has no Spark of the server's."""
    spark = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        spark.connect(str(place.spark))
        send(spark, {"guard": str(os.getpid())})
    except OSError:
        spark.close()
        return None
    return spark


def _hand_on_signals(connection: socket.socket, ended: int, worker: int) -> bool:
    """Until the worker ends. Whether the caller is still there."""
    watched: list[Any] = [connection, ended]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if connection in ready:
            try:
                message = receive(connection)
            except (OSError, ValueError):
                message = None
            if message is None:
                os.kill(worker, signal.SIGKILL)
                return False
            number = message.get("signal")
            if number in _SIGNALS:
                os.kill(worker, number)
        elif ended in ready:
            return True


def end_with(parent: int, number: int) -> None:
    """Have the kernel send this process a signal when its parent is gone, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, number)
    if os.getppid() != parent:
        os._exit(1)


def _work(served: Served, guard_id: int, asked: Mapping[str, Any], arguments: list[str], files: list[int]) -> NoReturn:
    """Become the process that the caller would have been, and run the command."""
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    os.chdir(asked["folder"])
    os.umask(asked["mask"])
    _limit(asked["limits"], asked["priority"])
    # Where temporary files go is found anew: the server has found its own place for them.
    tempfile.tempdir = None
    sys.argv[1:] = arguments
    (reading, read_errors), (writing, written_errors), (telling, told_errors) = asked["streams"]
    sys.stdin = _stream(0, "r", reading, read_errors)
    sys.stdout = _stream(1, "w", writing, written_errors)
    sys.stderr = _stream(2, "w", telling, told_errors)
    from reconciler.engine.spark.sharing import Offer, ask_first
    from reconciler.state.lease import work_for

    def ask() -> Offer | None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as spark:
            try:
                spark.connect(str(served.place.spark))
                send(spark, {"open": str(guard_id)})
                answer = receive(spark)
            except (OSError, ValueError):
                return None
        return None if answer is None else Offer(**answer)

    def cancel() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as spark, suppress(OSError, ValueError):
            spark.connect(str(served.place.spark))
            send(spark, {"cancel": str(guard_id)})
            receive(spark)

    work_for(guard_id)
    ask_first(ask, served.tell, cancel)
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        code = served.run(arguments)
    except SystemExit as ending:
        code = _code(ending)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _limit(limits: Mapping[str, tuple[int, int]], priority: int) -> None:
    """Take the caller's limits, as far as this process may."""
    for name, wanted in limits.items():
        with suppress(OSError, ValueError):
            limit = getattr(resource, name)
            resource.setrlimit(limit, limit_within(wanted, resource.getrlimit(limit)[1]))
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, priority)


def limit_within(wanted: tuple[int, int], hardest: int) -> tuple[int, int]:
    """The soft and the hard limit that come next to those that are wanted, where no hard limit above `hardest` is to be had.
    The kernel refuses both where it refuses the hard one, and a narrower soft one would be lost with it."""
    soft, hard = wanted
    hard = min(hard, hardest, key=_height)
    return min(soft, hard, key=_height), hard


def _height(limit: int) -> float:
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _code(ending: SystemExit) -> int:
    """The exit code that Python gives a process that ends so."""
    match ending.code:
        case None:
            return 0
        case int(code):
            return code
        case words:
            print(words, file=sys.stderr)
            return 1


def _stream(file: int, mode: str, encoding: str, errors: str) -> TextIO:
    """A standard stream as Python opens it: by lines on a terminal, and always so for what is told beside results."""
    is_by_line = mode == "w" and (file == 2 or os.isatty(file))
    buffering = 1 if is_by_line else -1
    stream: Any = open(file, mode, buffering, encoding, errors, closefd=False)  # noqa: SIM115
    return cast(TextIO, stream)
