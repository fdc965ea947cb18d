"""The parts of a text of code, SQL or Python: gaps (blanks and comments), literals, names in backquotes, words, signs.

A text may hold what is neither, and an apostrophe of a sentence puts the quotes behind it the wrong way round: whoever looks
for something begins at a place that it knows, and reads from there on.
"""

import re
from typing import Final, TypeAlias

Part: TypeAlias = re.Match[str]


def _part(word: str, comment: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<gap>\s++|--[^\n]*+|{comment}/\*(?:[^*]|\*(?!/)|(?!))*+(?:\*/|\Z))"
        r"|[rRbBuUfFxXnN]{0,2}(?P<literal>'(?:[^'\\]|\\.|'')*+'|\"(?:[^\"\\]|\\.|\"\")*+\")"
        rf"|`(?P<quoted>[^`]*+)`|(?P<word>{word})|(?P<sign>\|\||::|==?|\\.|.)",
        re.DOTALL,
    )


OPTION_PART: Final = _part(r"[\w.+-]++", "")
"""Of a list of options, where a word may be `a-b.c`."""
CODE_PART: Final = _part(r"[\w.]++", r"(?<!\S)\#(?=[^\S\n])[^\n]*+|")
