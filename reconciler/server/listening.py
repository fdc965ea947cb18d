"""The server: it takes connections, and forks a guard for each.

- One server a repository: it holds a lock for as long as it lives.
- It never reads what is sent and never waits for anybody, so no caller can hold up another.
- Spark's process is started with it, and again when it ended. While there is none, the server turns away who asks for it,
  and commands start a Spark of their own.
- So is the process of the service over HTTP, where one is wanted (`Http`). It asks for work as any client does.
- It ends when it is told to (SIGTERM, Ctrl-C, `stop`), when nobody asked anything for a time, and when its sources changed
  (a guard looks before each command). What is being carried out is finished first; a second signal does not wait for it.
"""

import contextlib
import fcntl
import gc
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final, NoReturn

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.base.long_lives import look_for_circles
from reconciler.server.client import connected
from reconciler.server.guarding import Run, Served, Tell, end_with, guard
from reconciler.server.messages import receive, send
from reconciler.server.places import Place
from reconciler.server.spark_process import SparkProcess

_AGAIN_SECONDS: Final = 5.0
"""Between two starts of Spark; twice as long after each that failed."""
_LONGEST_AGAIN_SECONDS: Final = 300.0
_LONGEST_PATH: Final = 100
_PACKAGE: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a server is to be: the settings of its Spark, and after how many idle seconds it ends (None: never)."""

    settings: Mapping[str, str]
    needs_s3: bool
    idle_seconds: float | None


SparkWork = Callable[[Wanted, socket.socket, int, int], None]
"""What the process of Spark does: with connections from a socket, until a file ends; another hears one line of it."""


@dataclass(frozen=True, slots=True)
class Http:
    """The service over HTTP: the socket that it listens at, and what its process does with it. The process ends on
    SIGTERM."""

    listener: socket.socket
    work: Callable[[socket.socket], None]


def work_of_spark(wanted: Wanted, listener: socket.socket, alive: int, told: int) -> NoReturn:
    """Start Spark, and let commands in."""
    SparkProcess(listener, alive, told).work(wanted.settings, wanted.needs_s3)


class Taken(ReconcileError):
    """Another server serves the repository."""


@contextlib.contextmanager
def only_server(place: Place) -> Iterator[None]:
    """Be the one server of a place. Raises Taken (U861), or ReconcileError (U860) where there can be none."""
    if len(os.fsencode(place.commands)) > _LONGEST_PATH:
        raise ReconcileError("U860", f"{place.commands} is too long for a socket", "set TMPDIR to a shorter folder")
    for folder in (place.folder.parent, place.folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not Place(folder).is_own():
            raise ReconcileError("U860", f"others may use {folder}", "remove it, or set TMPDIR to a folder of your own")
    with place.lock.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Taken("U861", f"process {_owner(lock)} serves this repository already") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        os.set_inheritable(lock.fileno(), False)
        yield


def _owner(lock: IO[str]) -> str:
    lock.seek(0)
    return lock.read().strip() or "?"


def stop_server(place: Place) -> str | None:
    """End the server of a place, and wait until it has ended: the process that it was. None: there was none."""
    connection = connected(place)
    if connection is None:
        return None
    with connection:
        try:
            send(connection, {"stop": True})
            answer = receive(connection) or {}
        except (OSError, ValueError):
            # It ends just now by itself.
            answer = {}
    with place.lock.open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    return str(answer.get("stopped", "?"))


@dataclass(frozen=True, slots=True)
class Processes:
    """What the processes of a server do: `run` runs a command, `spark` is what Spark's does, `http` the service over
    HTTP."""

    run: Run
    spark: SparkWork = work_of_spark
    http: Http | None = None


class Server:
    """See the module. `tell` hears what becomes of the server, `ready` that Spark is there, or why not."""

    def __init__(self, place: Place, wanted: Wanted, processes: Processes, tell: Tell, ready: Tell) -> None:
        self._place, self._wanted = place, wanted
        self._tell, self._ready, self._work_of_spark = tell, ready, processes.spark
        sources = newest_source()
        self._served = Served(place, os.getpid(), processes.run, tell, lambda: newest_source() == sources)
        self._guards: set[int] = set()
        self._spark: int | None = None
        self._spark_began = 0.0
        self._again = _AGAIN_SECONDS
        self._told: int | None = None
        self._http = processes.http
        self._http_process: int | None = None
        self._http_began = -_AGAIN_SECONDS
        self._stops = 0
        self._used = time.monotonic()

    def serve(self) -> None:
        """Until it is told to end, or nobody asks anything for long."""
        gc.collect()
        gc.freeze()
        # Python looks through old values once they grew by a quarter: this look counts none of those that are frozen now.
        gc.collect()
        look_for_circles()
        with _listening(self._place.commands) as commands, _listening(self._place.spark) as spark:
            alive, needed = os.pipe()
            wakened, waking = os.pipe()
            os.set_blocking(waking, False)
            self._own = (commands, spark, alive, needed, wakened, waking)
            signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, self._stop)
            signal.signal(signal.SIGCHLD, lambda number, frame: None)
            self._start_spark(spark, alive)
            while not self._stops and not self._is_idle():
                self._start_http()
                self._turn(commands, spark, alive, wakened)
            self._tell("ending" + (f" after {len(self._guards)} command(s)" if self._guards else ""))
            # It asks for the end of what it runs, over the socket for commands.
            self._end_http(wakened)
        while self._guards and self._stops < 2:
            self._wait([wakened], None)
            self._collect(wakened)
        os.close(needed)
        if self._spark is not None and self._stops < 2:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._spark, 0)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1

    def _is_idle(self) -> bool:
        idle = self._wanted.idle_seconds
        return idle is not None and not self._guards and time.monotonic() - self._used >= idle

    def _turn(self, commands: socket.socket, spark: socket.socket, alive: int, wakened: int) -> None:
        has_all = self._spark is not None and (self._http is None or self._http_process is not None)
        waits = [60.0 if has_all else 5.0]
        if self._wanted.idle_seconds is not None:
            waits.append(max(0.0, self._used + self._wanted.idle_seconds - time.monotonic()) + 0.01)
        watched = [commands, wakened, *([self._told] if self._told is not None else [])]
        ready = self._wait(watched if self._spark is not None else [*watched, spark], min(waits))
        if self._told in ready:
            self._hear()
        self._collect(wakened)
        if self._spark is None and time.monotonic() - self._spark_began >= self._again:
            self._start_spark(spark, alive)
        if self._spark is None and spark in ready:
            with contextlib.suppress(OSError):
                spark.accept()[0].close()
        if commands in ready:
            with contextlib.suppress(OSError):
                self._fork_guard(commands.accept()[0])

    def _wait(self, files: list[Any], seconds: float | None) -> list[Any]:
        return select.select(files, [], [], seconds)[0]

    def _hear(self) -> None:
        """What Spark's process says when it has started, or why it has not."""
        assert self._told is not None
        text = os.read(self._told, 4096).decode("utf-8", "replace")
        os.close(self._told)
        self._told = None
        # It says an empty line where all is well, and nothing where it ended before it could say anything.
        why = text.strip() if text else "its process ended without a message"
        self._again = min(2 * self._again, _LONGEST_AGAIN_SECONDS) if why else _AGAIN_SECONDS
        self._ready(why)

    def _collect(self, wakened: int) -> None:
        if self._wait([wakened], 0):
            os.read(wakened, 4096)
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._spark:
                self._spark = None
            if pid == self._http_process:
                self._http_process = None
            if pid in self._guards:
                self._guards.discard(pid)
                self._used = time.monotonic()

    def _fork_guard(self, connection: socket.socket) -> None:
        self._used = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _on_its_own()
            # What keeps Spark's process alive stays open.
            commands, spark, alive, _, wakened, waking = self._own
            _close(commands, spark, alive, wakened, waking, self._told, self._listener_of_http())
            guard(connection, self._served)
        connection.close()
        self._guards.add(pid)

    def _start_spark(self, listener: socket.socket, alive: int) -> None:
        self._spark_began = time.monotonic()
        told, telling = os.pipe()
        pid = os.fork()
        if pid == 0:
            _on_its_own()
            commands, _, _, needed, wakened, waking = self._own
            _close(commands, needed, wakened, waking, told, self._listener_of_http())
            try:
                self._work_of_spark(self._wanted, listener, alive, telling)
            finally:
                os._exit(1)
        os.close(telling)
        self._spark, self._told = pid, told

    def _listener_of_http(self) -> socket.socket | None:
        return self._http.listener if self._http is not None else None

    def _start_http(self) -> None:
        """Start the process of the service over HTTP, if it is wanted and is not there."""
        waits = self._http_began + _AGAIN_SECONDS - time.monotonic()
        if self._http is None or self._http_process is not None or waits > 0:
            return
        self._http_began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _on_its_own()
            commands, spark, alive, needed, wakened, waking = self._own
            _close(commands, spark, alive, needed, wakened, waking, self._told)
            # Without the server it could do nothing that it is asked for, and would keep the next one from starting.
            end_with(self._served.server, signal.SIGTERM)
            try:
                self._http.work(self._http.listener)
            finally:
                os._exit(1)
        self._http_process = pid

    def _end_http(self, wakened: int) -> None:
        """Have the service over HTTP end what it runs, and wait until it has ended; a second signal does not wait."""
        if self._http_process is not None:
            os.kill(self._http_process, signal.SIGTERM)
        while self._http_process is not None:
            self._wait([wakened], None)
            self._collect(wakened)
            if self._stops > 1 and self._http_process is not None:
                os.kill(self._http_process, signal.SIGKILL)


def _on_its_own() -> None:
    """Away from the server's terminal, whose Ctrl-C and end are the server's alone to hear; and signals as a process has
    them that was just started."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _close(*files: Any) -> None:
    for file in files:
        if file is None:
            continue
        with contextlib.suppress(OSError):
            if isinstance(file, int):
                os.close(file)
            else:
                file.close()


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """A socket that listens at a path, which is gone afterwards."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        listener.listen(128)
        yield listener
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def newest_source() -> tuple[int, int]:
    """When a source of this package was last written, and how many there are."""
    times = [
        os.stat(os.path.join(folder, file)).st_mtime_ns
        for folder, _, files in os.walk(_PACKAGE)
        for file in files
        if file.endswith(".py")
    ]
    return max(times), len(times)
