"""Texts of others, fit to be shown: every character that would act instead of being read is written out.

Line ends can forge lines, escapes move a terminal's cursor or change what stands there already, marks of direction turn the
order of letters, and characters that nobody sees hide what stands between them. Whatever shows text goes through here.
"""

import json
import re
from typing import Any

_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def printable(text: str) -> str:
    """A text within a line. Every control character, line separator, mark of direction and sign that nobody sees is written
    out (`\\r`, `\\u202e`), and halves of characters too, which no output takes."""
    if text.isascii() and text.isprintable():
        return text
    return _ACTING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable_lines(text: str) -> str:
    """A text of several lines: line feeds stay, tabs become blanks, all else is as in `printable`."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(printable(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n"))


def printable_json(value: Any, *, indent: int | None = None, default: Any = None) -> str:
    """A value as JSON, which any reader takes for the same value: what would act is escaped within its texts."""
    return _ACTING.sub(_escaped, json.dumps(value, indent=indent, ensure_ascii=False, default=default))


def _escaped(found: re.Match[str]) -> str:
    # Line feeds stand between the parts of JSON, never within a text. JSON itself lets DEL stand.
    match found[0]:
        case "\n":
            return "\n"
        case "\x7f":
            return "\\u007f"
        case character:
            return json.dumps(character)[1:-1]
