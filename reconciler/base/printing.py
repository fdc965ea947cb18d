"""Texts of others, fit to be shown: every character that would act instead of being read, or that nobody sees, is written
out.

Line ends can forge lines, escapes move a terminal's cursor or change what stands there already, marks of direction turn the
order of letters. What shows nothing makes two texts look the same that are not: such characters may be data, so files may
have them (`invisible` has those that files may not), and whatever shows text goes through here. It loses the
secrets that this process knows (`secrets.known_values`).

Unicode says which they are: controls, formats, halves, private and unassigned ones (Cc, Cf, Cs, Co, Cn), separators but the
blank (Zl, Zp, Zs), what it calls ignorable by default (so also U+FE0F behind an emoji); and a few are blank by their form.
"""

import json
import re
from typing import Any

from reconciler.base.secrets.known_values import without_secrets, without_secrets_within

# Python knows the categories (`str.isprintable`), but not Default_Ignorable_Code_Point: these are letters and marks among
# them. Blank by their form are the braille cell without dots, the replacement of an object, the Khitan filler, the note
# without a head.
_IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_BLANK = re.compile(f"[{_IGNORABLE}\u2800\ufffc\U00016fe4\U0001d159]")
_NOT_PLAIN = re.compile("[^ -~]")


def is_seen(character: str) -> bool:
    """Whether a character shows something, and is only read."""
    return character.isprintable() and _BLANK.match(character) is None


def printable(text: str) -> str:
    """A text within a line. Every control character, line separator, mark of direction and sign that nobody sees is written
    out (`\\r`, `\\u202e`), and halves of characters too, which no output takes."""
    text = without_secrets(text)
    if _is_plain(text):
        return text
    return _NOT_PLAIN.sub(_written_out, text)


def printable_lines(text: str) -> str:
    """A text of several lines: line feeds stay, tabs become blanks, all else is as in `printable`."""
    # First as a whole: a secret may go over lines.
    text = without_secrets(text)
    if _is_plain(text):
        return text
    return "\n".join(printable(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n"))


def printable_json(value: Any, *, indent: int | None = None, default: Any = None) -> str:
    """A value as JSON, which any reader takes for the same value: what would act is escaped within its texts."""
    value = without_secrets_within(value)
    return _NOT_PLAIN.sub(_escaped, json.dumps(value, indent=indent, ensure_ascii=False, default=default))


def _is_plain(text: str) -> bool:
    return text.isprintable() and (text.isascii() or _BLANK.search(text) is None)


def _written_out(found: re.Match[str]) -> str:
    return found[0] if is_seen(found[0]) else found[0].encode("unicode_escape").decode("ascii")


def _escaped(found: re.Match[str]) -> str:
    # Line feeds stand between the parts of JSON, never within a text. JSON itself lets DEL stand.
    match found[0]:
        case "\n":
            return "\n"
        case "\x7f":
            return "\\u007f"
        case character if is_seen(character):
            return character
        case character:
            return json.dumps(character)[1:-1]
