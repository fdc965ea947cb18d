"""Lines that fit a terminal: broken between words, continued under a hanging indent.

Nothing is lost: a word wider than the line stands whole in a line of its own and is left to the terminal. Widths are those
of terminals, where an East Asian character takes two columns and a combining one none.
"""

import re
import unicodedata

_WORD = re.compile(r"\S+")
_LEAST = 24


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def wrap(text: str, width: int | None, hanging: int) -> list[str]:
    """The lines of one line. What stands before its first word stays; further lines begin with `hanging` blanks. None:
    there is no width to keep to."""
    if width is None or columns_of(text) <= width:
        return [text]
    # Where little is left beside the indent, lines would be a word each.
    width = max(width, hanging + _LEAST)
    lines: list[str] = []
    begun, end = 0, 0
    room = width
    for word in _WORD.finditer(text):
        if end > begun and columns_of(text[begun : word.end()]) > room:
            lines.append(text[begun:end])
            begun = word.start()
            room = width - hanging
        end = word.end()
    lines.append(text[begun:])
    return [lines[0], *(" " * hanging + line for line in lines[1:])]


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
