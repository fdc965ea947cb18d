"""`!=` is `<>`, and `==` is `=`.

Spark's lexer gives `=` and `==` one token (EQ), and its parser gives `<>` and `!=` one expression, Not(EqualTo): also the
name that it makes up for a column without alias is the same, `(NOT (a = b))`. The one other place of `<>` is the type
`STRUCT<>`, where `!=` is an error; so `<>` is the spelling that stays.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes

_SPELLINGS: Final = {"!=": "<>", "==": "="}
MARKS: Final = frozenset(_SPELLINGS)


def even_operators(shapes: list[str], changes: Changes) -> None:
    for index, shape in enumerate(shapes):
        if shape in _SPELLINGS:
            changes.spelled[index] = _SPELLINGS[shape]
