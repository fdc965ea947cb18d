"""What a cache of compiled objects must do. The pure core is given one; where it is kept is the shell's affair.

Rules:
- Keys say everything that a value depends on (content, and the version of the code that made it), so a value never goes
  stale and an absent one only costs its computation. Whoever uses a cache gives the same results with any other one.
- Whoever is going to ask for many keys one after the other says so before (`prepare`): together they cost less.
- Values are JSON texts. `remember` may keep them for `recall` at once, or when the cache is closed, or never.
"""

from collections.abc import Iterable
from typing import Protocol


class Cache(Protocol):
    """See the module."""

    def prepare(self, keys: Iterable[str]) -> None:
        """These keys are asked for next. Changes no answer."""
        ...

    def recall(self, key: str) -> str | None:
        """The value under a key, or None."""
        ...

    def remember(self, key: str, value: str) -> None:
        """Keep a value under its key."""
        ...


class NoCache:
    """Remembers nothing."""

    def prepare(self, keys: Iterable[str]) -> None:
        pass

    def recall(self, key: str) -> str | None:
        return None

    def remember(self, key: str, value: str) -> None:
        pass


class MemoryCache:
    """Remembers for as long as it lives."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def prepare(self, keys: Iterable[str]) -> None:
        pass

    def recall(self, key: str) -> str | None:
        return self.values.get(key)

    def remember(self, key: str, value: str) -> None:
        self.values[key] = value
