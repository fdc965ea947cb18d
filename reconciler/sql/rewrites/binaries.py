"""The digits of a binary literal: `X'1f'` is `X'1F'`.

Spark's grammar: `name stringLit`, where the name is X; its parser reads hexadecimal digits in either case, and prints them
in upper case wherever it makes up a name. A string that holds anything else, or that another string follows, stays.
"""

import re
from typing import Final

from reconciler.sql.lexer import Token
from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import STRING, at

MARKS: Final = frozenset({"x"})
_DIGITS: Final = re.compile(r"""('[0-9A-Fa-f]*'|"[0-9A-Fa-f]*")\Z""")


def even_binaries(tokens: list[Token], shapes: list[str], changes: Changes) -> None:
    for index, shape in enumerate(shapes):
        if shape != "x" or at(shapes, index + 1) != STRING or at(shapes, index + 2) == STRING:
            continue
        digits = tokens[index + 1].text
        if at(shapes, index - 1) != "." and _DIGITS.match(digits):
            changes.spelled[index] = "x"
            changes.spelled[index + 1] = digits.upper()
