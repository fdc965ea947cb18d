"""Types with two names, as the target of a CAST: INTEGER is INT, LONG is BIGINT, DEC and NUMERIC are DECIMAL …

Spark's parser makes one type of both (`AstBuilder.visitPrimitiveDataType`), and prints that type wherever it makes up a
name. Only `CAST(… AS type)`, `TRY_CAST(… AS type)` and `…::type` count, and only the type itself: inside `ARRAY<…>` and the
like the names stay as written. Anywhere else such a word may be an alias: `SELECT a AS long`.
"""

from typing import Final

from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import NUMBER, at

_NAMES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
}
MARKS: Final = frozenset(_NAMES)


def even_type_names(shapes: list[str], changes: Changes) -> None:
    openings: list[int] = []
    for index, shape in enumerate(shapes):
        if shape == "(":
            openings.append(index)
        elif shape in _NAMES and at(shapes, index - 1) == "::":
            changes.spelled[index] = _NAMES[shape]
        elif shape == ")" and openings:
            opening = openings.pop()
            if at(shapes, opening - 1) in ("cast", "try_cast") and at(shapes, opening - 2) != ".":
                _even_target(shapes, opening, index, changes)


def _even_target(shapes: list[str], opening: int, closing: int, changes: Changes) -> None:
    name = closing - 1
    if at(shapes, name) == ")":
        name = _before_numbers(shapes, name)
    if name - 2 > opening and shapes[name - 1] == "as" and shapes[name] in _NAMES:
        changes.spelled[name] = _NAMES[shapes[name]]


def _before_numbers(shapes: list[str], index: int) -> int:
    """The index before `(5)` or `(5, 2)` that closes at `index`."""
    index -= 1
    while shapes[index] in (NUMBER, ","):
        index -= 1
    return index - 1 if shapes[index] == "(" else index
