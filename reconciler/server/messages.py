"""What the processes of a server say to each other: JSON objects over a socket, each after its length in four bytes."""

import array
import json
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

_LENGTH: Final = struct.Struct(">I")
MOST_BYTES: Final = 16 * 1024 * 1024
"""Of one message. An environment and a query are far smaller."""


def send(connection: socket.socket, message: Mapping[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message, and open files with it. Raises OSError when the other one is gone."""
    text = json.dumps(message).encode("ascii")
    data = _LENGTH.pack(len(text)) + text
    handed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    sent = connection.sendmsg([data], handed)
    if sent < len(data):
        connection.sendall(data[sent:])


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """The next message; None when the other one is gone. Raises ValueError where it is no message."""
    return _message(connection, b"")


def receive_with_files(connection: socket.socket, most_files: int) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message and the files that came with it, which are the caller's to close."""
    files = array.array("i")
    data, extra, _, _ = connection.recvmsg(_LENGTH.size, socket.CMSG_LEN(most_files * files.itemsize))
    for level, kind, content in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(content[: len(content) - len(content) % files.itemsize])
    return _message(connection, data), list(files)


def _message(connection: socket.socket, begun: bytes) -> dict[str, Any] | None:
    head = _bytes(connection, _LENGTH.size, begun)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    text = _bytes(connection, length, b"")
    if text is None:
        return None
    message = json.loads(text)
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message


def _bytes(connection: socket.socket, count: int, begun: bytes) -> bytes | None:
    found = bytearray(begun)
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            return None
        found += part
    return bytes(found)
