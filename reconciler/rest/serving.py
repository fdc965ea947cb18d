"""The process of the service over HTTP: it listens until it is told to end, and then ends what it runs."""

import getpass
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Final

import anyio.to_thread
import uvicorn

from reconciler.base.errors import ReconcileError
from reconciler.environment.target import Target
from reconciler.rest.application import new_application
from reconciler.rest.descriptions import complete
from reconciler.rest.requests import remove_read_requests
from reconciler.rest.shared import Service, new_service
from reconciler.server.places import Place

TOKEN: Final = "RECONCILE_API_TOKEN"
"""The variable that says what each request has to know."""
USUAL_PORT: Final = 8080
"""Where Feldera's client looks."""
_TRIED: Final = 20
_THREADS: Final = 200
_BACKLOG: Final = 256
_TIDY_SECONDS: Final = 30.0


def listener_at(port: int | None) -> socket.socket:
    """A socket that listens on this machine alone: at a port, or (None) at the usual one, or the next that is free. Raises
    OSError."""
    tried = [port] if port is not None else [*range(USUAL_PORT, USUAL_PORT + _TRIED), 0]
    for number in tried:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
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


def serve_http(target: Target, place: Place, listener: socket.socket, *, nests: bool = True) -> None:
    """Answer requests until this process gets a SIGTERM."""
    complete(target)
    service = new_service(target, place, getpass.getuser, nests=nests)
    for task in (service.deployments.take_up, lambda: _tidy_up(service)):
        threading.Thread(target=task, daemon=True).start()
    application = new_application(service, os.environ.get(TOKEN, ""))

    async def with_threads() -> None:
        # Whoever waits for a query, or for a pipeline that is paused, holds a thread.
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS

    application.router.on_startup.append(with_threads)
    config = uvicorn.Config(application, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    def end(number: int, frame: FrameType | None) -> None:
        """uvicorn hears signals itself while it serves, and raises them again when it has ended."""
        server.should_exit = True

    signal.signal(signal.SIGTERM, end)
    server.run(sockets=[listener])
    service.deployments.end()
