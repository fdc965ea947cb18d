"""The parts of a text of code, SQL or Python: gaps (blanks and comments), literals, names in backquotes, words, signs.

A text may hold what is neither, and an apostrophe of a sentence puts the quotes behind it the wrong way round: whoever looks
for something begins at a place that it knows, and reads from there on.
"""

import re
from typing import Final, TypeAlias

PART: Final = re.compile(
    r"(?P<gap>\s++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))"
    r"|[rRbBuUfFxXnN]{0,2}(?P<literal>'(?:[^'\\]|\\.|'')*+'|\"(?:[^\"\\]|\\.|\"\")*+\")"
    r"|`(?P<quoted>[^`]*+)`|(?P<word>[\w.+-]++)|(?P<sign>\|\||==?|\\.|.)",
    re.DOTALL,
)
Part: TypeAlias = re.Match[str]
