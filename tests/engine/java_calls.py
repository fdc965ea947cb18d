"""What the driver asks of the JVM: each call takes about as long as a hundred entries of a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def calls_into_java() -> Iterator[list[str]]:
    """The commands that py4j sends meanwhile."""
    session: Any = SparkSession.active()
    client = session._jvm._gateway_client
    send, calls = client.send_command, list[str]()

    def counted(command: str, *more: Any, **named: Any) -> Any:
        calls.append(command)
        return send(command, *more, **named)

    client.send_command = counted
    try:
        yield calls
    finally:
        del client.send_command
