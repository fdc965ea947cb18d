"""What a text of an input may not hold, as both engines tell it: with that in it, a text would become another one on its way
into a table."""

from typing import Final

NOT_UTF_8: Final = "the text is not UTF-8"
HALF_A_CHARACTER: Final = r"the text has an unpaired surrogate escape (\ud800 to \udfff come in pairs)"
NONCHARACTER: Final = "the text has a noncharacter that stands for something else here (U+FDD0 in CSV, U+FDD2 in JSON)"
HOLDS_NUL: Final = "a line holds the character NUL"

IN_HEXADECIMAL: Final = "not UTF-8, in hexadecimal digits: "
"""How bytes that are no text are shown: what follows are the bytes. For people: a text may begin so, too."""

FOR_NUMBERS: Final = "\ufdd2"
"""The noncharacter that no text of JSON may hold: Unicode leaves these to programs for their own use."""
FOR_NOTHING: Final = "\ufdd0"
"""The one that no text of CSV may hold."""


def is_half(text: str) -> bool:
    """Whether a text, its escapes read, has half a character."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def from_bytes(data: bytes) -> str | None:
    """Bytes as a text; None where they are no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def shown(data: bytes) -> str:
    """Bytes as people see them."""
    text = from_bytes(data)
    return IN_HEXADECIMAL + data.hex().upper() if text is None else text
