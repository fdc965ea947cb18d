"""Connections that ask nothing are closed; those that ask, or wait for an answer, stay."""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import uvicorn

from reconciler.rest.connections import Connection

SECONDS = 0.5
ASKED = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Hasty(Connection):
    head_seconds = SECONDS


async def slow(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
    """Answers after longer than anybody may be silent."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await asyncio.sleep(2 * SECONDS)
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(slow, http=Hasty, ws="none", lifespan="off", log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield int(listener.getsockname()[1])
        server.should_exit = True
        thread.join()


def closed_after(connection: socket.socket) -> float:
    """After how many seconds the other side closes."""
    connection.settimeout(20 * SECONDS)
    before = time.monotonic()
    assert connection.recv(100) == b""
    return time.monotonic() - before


@pytest.mark.parametrize("begun", [b"", ASKED[:-2]], ids=["nothing", "half a request"])
def test_who_asks_nothing_is_shown_out(port: int, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.send(begun)
        assert closed_after(connection) < 10 * SECONDS


def test_nobody_stays_for_asking_slowly(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(0.05)
        before = time.monotonic()
        for byte in ASKED[:-1]:
            try:
                connection.send(bytes([byte]))
                if connection.recv(100) == b"":
                    break
            except TimeoutError:
                time.sleep(0.05)
            except OSError:
                break
        assert time.monotonic() - before < 5 * SECONDS


def test_who_waits_for_an_answer_stays(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(20 * SECONDS)
        for _ in range(2):
            connection.send(ASKED)
            found = b""
            while not found.endswith(b"ok"):
                part = connection.recv(1000)
                assert part
                found += part
