"""Regular expressions that are compiled when they are asked for first.

A command imports many of them and needs few. Those that say what is secret would take a tenth of the time of a plan in which
nothing changed.
"""

import re
from functools import cached_property
from typing import Any, cast


class _Later:
    """What `re.compile` would give, made with the first use of it."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def _compiled(self) -> "re.Pattern[str]":
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


def lazy_pattern(text: str, flags: int = 0) -> "re.Pattern[str]":
    """A pattern as `re.compile` makes it. An error in its text shows with its first use."""
    return cast("re.Pattern[str]", _Later(text, flags))
