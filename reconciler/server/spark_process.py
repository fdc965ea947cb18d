"""The process of a server that starts Spark, keeps it warm, and lets commands in.

- Each command has a guard, which is connected from the beginning. For a command that has one, `open` gives a way into
  Spark. `cancel` cancels the command's jobs. `close` ends the way, cancels what the command began, and answers when nothing
  of it runs any more.
- A guard that goes without closing was killed: what its command began is still going on in Spark, and nobody stands for
  it. So Spark ends with it, at once. Also where what a command began does not end in a minute.
- Spark ends with this process, and this process with Spark, or when the server and all guards are gone.

Warm: once Spark is there, the usual work is done once on tables in a temporary folder, beside what is asked.
"""

import itertools
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Final, NoReturn

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.server.messages import receive, send

_AWAY: Final = 3
"""The exit code where Spark ended, or had to."""
_LONGEST_OPENING: Final = 30.0
_LONGEST_MEETING: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Gateway:
    name: str
    port: int
    secret: str


class SparkProcess:
    """See the module. `listener` takes connections; `alive` is a file that ends when nobody needs Spark any more; `told` is
    where it says that it is ready, or why it can't be."""

    def __init__(self, listener: socket.socket, alive: int, told: int) -> None:
        self._listener, self._alive, self._told = listener, alive, told
        self._ready: Queue[_Gateway] = Queue()
        self._alone = threading.Condition()
        self._guards: set[str] = set()
        self._opened: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._session: Any = None
        self._wanted: Mapping[str, str] = {}
        self._environment: Mapping[str, str] = {}

    def work(self, settings: Mapping[str, str], needs_s3: bool) -> NoReturn:
        """Start Spark and serve until nobody needs it."""
        from reconciler.engine.spark.session import start_shared
        from reconciler.engine.spark.sharing import environment_of_this_process

        self._environment = environment_of_this_process()
        try:
            self._session, self._wanted = start_shared(settings, needs_s3)
        except ReconcileError as error:
            self._say(f"{error.code}: {error.message}" + (f" ({error.hint})" if error.hint else ""))
            os._exit(1)
        self._say("")
        for task in (self._watch_spark, self._make_ready, self._take_connections, self._warm):
            threading.Thread(target=task, daemon=True).start()
        os.read(self._alive, 1)
        self._end(0)

    def _say(self, text: str) -> None:
        os.write(self._told, text.encode("utf-8", "replace")[:4000] + b"\n")
        os.close(self._told)

    def _watch_spark(self) -> None:
        self._java().wait()
        os._exit(_AWAY)

    def _java(self) -> Any:
        return self._session.sparkContext._gateway.proc

    def _end(self, code: int) -> NoReturn:
        self._java().kill()
        os._exit(code)

    def _take_connections(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        guarded: str | None = None
        with connection, suppress(OSError, ValueError, Empty):
            while (asked := receive(connection)) is not None:
                match asked:
                    case {"guard": str(name)}:
                        guarded = name
                        with self._alone:
                            self._guards.add(name)
                            self._alone.notify_all()
                    case {"open": str(name)}:
                        send(connection, self._opening(name))
                    case {"cancel": str(name)}:
                        self._cancel(name)
                        send(connection, {"cancelled": name})
                    case {"close": str(name)}:
                        guarded = None
                        send(connection, {"quiet": self._close(name)})
        if guarded is not None and self._leaves(guarded):
            self._end(_AWAY)

    def _make_ready(self) -> None:
        """Open a way in before it is asked for: that takes longer than to hand it out."""
        from reconciler.engine.spark.sharing import open_gateway

        name = f"command {next(self._numbers)}"
        try:
            self._ready.put(_Gateway(name, *open_gateway(self._session, name)))
        except Exception:
            # A Spark that lets nobody in serves nobody.
            self._end(_AWAY)

    def _opening(self, guarded: str) -> Mapping[str, Any]:
        from reconciler.engine.spark.sharing import begin_gateway

        gateway = self._ready.get(timeout=_LONGEST_OPENING)
        with self._alone:
            # It was there before its command; but the one may be heard before the other.
            if not self._alone.wait_for(lambda: guarded in self._guards, _LONGEST_MEETING):
                self._ready.put(gateway)
                raise ValueError(f"nobody guards {guarded}")
            self._opened[guarded] = gateway.name
        threading.Thread(target=self._make_ready, daemon=True).start()
        begin_gateway(self._session)
        return {
            "port": gateway.port,
            "secret": gateway.secret,
            "settings": dict(self._wanted),
            "environment": dict(self._environment),
        }

    def _cancel(self, guarded: str) -> None:
        from reconciler.engine.spark.sharing import cancel_jobs

        gateway = self._opened.get(guarded)
        if gateway is not None:
            cancel_jobs(self._session, gateway)

    def _close(self, guarded: str) -> bool:
        from reconciler.engine.spark.sharing import close_gateway

        gateway = self._opened.get(guarded)
        if gateway is not None and not close_gateway(self._session, gateway):
            self._end(_AWAY)
        self._leaves(guarded)
        return True

    def _leaves(self, guarded: str) -> bool:
        """A guard is gone. Whether what it stood for had a way into Spark."""
        with self._alone:
            self._guards.discard(guarded)
            return self._opened.pop(guarded, None) is not None

    def _warm(self) -> None:
        from reconciler.engine.spark.engine import SparkEngine
        from reconciler.engine.spark.rehearsal import work

        folder = Path(tempfile.mkdtemp(prefix="reconcile-warm-"))
        # Nothing depends on it.
        with suppress(Exception):
            work(SparkEngine(lambda: self._session), self._session, folder / "work")
        shutil.rmtree(folder, ignore_errors=True)
