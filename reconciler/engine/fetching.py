"""How the records of a topic come to this process without a job of Spark."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from reconciler.base.digest import JsonObject

Fetch: TypeAlias = Callable[[JsonObject, JsonObject, int], Sequence[bytes | None] | None]
"""Gives the values of a range's records, partition by partition in the order of their offsets; None where that can't be had
for sure, or not soon. It is told the range, the transport's settings, and how many bytes are too many."""


def not_fetched(range_: JsonObject, config: JsonObject, most_bytes: int) -> None:
    """Where nobody fetches."""
