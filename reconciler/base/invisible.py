"""Characters that no text of a pipeline may hold as they are: they act on what shows the text, or on what reads it.

- Control characters but tab, line feed, carriage return, form feed: terminals obey them, and parsers disagree on them (NUL
  ends a text for some).
- Those that turn the direction of what follows: a line then reads otherwise than it runs.
- Halves of surrogate pairs, which UTF-8 can't hold.

Inside of strings they can be written by an escape, which everybody sees.

Others show nothing, too, and are taken, since people write them: a blank that does not break, the wide blank of Chinese,
what stands behind an emoji or between its parts, fillers of Korean. Wherever a text is shown they are written out
(`printing`).
"""

import re
from typing import Final

_INVISIBLE: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def first_invisible(text: str) -> int | None:
    """The offset of the first such character, if there is one."""
    found = _INVISIBLE.search(text)
    return None if found is None else found.start()


def code_point(character: str) -> str:
    """A character as named in messages: `U+001B`."""
    return f"U+{ord(character):04X}"
