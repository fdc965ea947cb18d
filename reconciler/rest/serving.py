"""The process of the service over HTTP: it listens until it is told to end, and then ends what it runs."""

import getpass
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

import anyio.to_thread
import uvicorn

from reconciler.base.boundaries import Boundary, no_boundary
from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError
from reconciler.environment.target import Target
from reconciler.rest.access import Callers, asking, callers_of
from reconciler.rest.application import new_application
from reconciler.rest.connections import Connection
from reconciler.rest.descriptions import complete
from reconciler.rest.requests import remove_read_requests
from reconciler.rest.shared import Service, new_service
from reconciler.server.places import Place

TOKEN: Final = "RECONCILE_API_TOKEN"
"""The variable that says what each request has to know."""
LOOPBACK: Final = "127.0.0.1"
USUAL_PORT: Final = 8080
"""Where Feldera's client looks."""
_TRIED: Final = 20
_THREADS: Final = 200
_BACKLOG: Final = 256
_REQUESTS: Final = 1_000
"""Answered at the same time; others are told to come again (503)."""
_TIDY_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class WantedHttp:
    """How the service listens: at which address and port (None: the usual one, or the next that is free), to which callers,
    with which certificate and key (None: without TLS). `nests` is as in `Lookup`."""

    host: str = LOOPBACK
    port: int | None = None
    tokens: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    nests: bool = True

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host == LOOPBACK

    def address(self, listener: socket.socket) -> str:
        """Where to look."""
        scheme, host = "https" if self.certificate is not None else "http", "localhost" if self.is_local else self.host
        return f"{scheme}://{host}:{listener.getsockname()[1]}"

    def callers(self) -> Callers:
        """Who may ask. Raises ReconcileError (U864)."""
        return callers_of(getpass.getuser(), os.environ.get(TOKEN, ""), self.tokens)

    def require_safe(self) -> None:
        """Raises ReconcileError (U864) for a service that others reach, and that does not know who they are, or tells tokens
        to whoever listens."""
        if (self.certificate is None) != (self.key is None):
            raise ReconcileError("U864", "TLS needs a certificate and its key", "give both: --certificate FILE --key FILE")
        if not self.is_local and (not self.callers().by_digest or self.certificate is None):
            message = f"at {self.host} others reach the API: it needs to know who they are, and TLS"
            raise ReconcileError("U864", message, "add --tokens FILE, --certificate FILE and --key FILE")


def listener_at(wanted: WantedHttp) -> socket.socket:
    """A socket that listens as it is wanted. Raises OSError, and ReconcileError (U864)."""
    wanted.require_safe()
    port = wanted.port
    tried = [port] if port is not None else [*range(USUAL_PORT, USUAL_PORT + _TRIED), 0]
    for number in tried:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((wanted.host, number))
        except OSError:
            listener.close()
            if number == tried[-1]:
                raise
            continue
        listener.listen(_BACKLOG)
        return listener
    raise AssertionError


def _tidy_up(service: Service) -> None:
    while True:
        time.sleep(_TIDY_SECONDS)
        with suppress(ReconcileError, OSError):
            remove_read_requests(service)


def _go_on_with_approved(service: Service) -> None:
    """Starts that wait go on when their plan was approved by other means, such as `reconcile approve`."""
    while True:
        time.sleep(_LOOK_SECONDS)
        with suppress(ReconcileError, OSError):
            for pipeline in service.lookup.names():
                with suppress(ReconcileError, OSError):
                    service.deployments.go_on(pipeline)


def serve_http(
    target: Target, place: Place, listener: socket.socket, wanted: WantedHttp, boundary: Boundary = no_boundary
) -> None:
    """Answer requests until this process gets a SIGTERM."""
    complete(target)
    service = new_service(target, place, lambda: asking.get() or getpass.getuser(), boundary, nests=wanted.nests)
    for task in (service.deployments.take_up, lambda: _tidy_up(service), lambda: _go_on_with_approved(service)):
        threading.Thread(target=task, daemon=True).start()
    application = new_application(service, wanted.callers(), is_local=wanted.is_local)

    async def with_threads() -> None:
        # Whoever waits for a query, or for a pipeline that is paused, holds a thread.
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS

    application.router.on_startup.append(with_threads)
    config = uvicorn.Config(
        application,
        http=Connection,
        # There is none, and what is none of HTTP does not come through the door.
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=_REQUESTS,
        ssl_certfile=wanted.certificate,
        ssl_keyfile=wanted.key,
    )
    server = uvicorn.Server(config)

    def end(number: int, frame: FrameType | None) -> None:
        """uvicorn hears signals itself while it serves, and raises them again when it has ended."""
        server.should_exit = True

    signal.signal(signal.SIGTERM, end)
    server.run(sockets=[listener])
    service.deployments.end()
