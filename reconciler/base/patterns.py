"""Regular expressions that are compiled when they are asked for first.

A command imports many of them and needs few. Those that say what is secret would take a tenth of the time of a plan in which
nothing changed.

A group that is repeated for good (`(?:…)*+`) and could fail behind its first character ends with `|(?!)`, which never fits.
Python 3.11.0 to 3.11.4 need it: where the last round failed, they went on from where it had come to, not from where it began
(gh-100061). This last choice begins anew, and fails there.
"""

import re
from typing import Any, cast


class _Later:
    """What `re.compile` would give, made with the first use of it. What was asked for once is at hand."""

    def __init__(self, text: str, flags: int) -> None:
        self._made_of = (text, flags)

    def __getattr__(self, name: str) -> Any:
        # `re` remembers what it compiled.
        found = getattr(re.compile(*self._made_of), name)
        setattr(self, name, found)
        return found


def lazy_pattern(text: str, flags: int = 0) -> "re.Pattern[str]":
    """A pattern as `re.compile` makes it. An error in its text shows with its first use."""
    return cast("re.Pattern[str]", _Later(text, flags))
