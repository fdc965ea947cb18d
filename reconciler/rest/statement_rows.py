"""The rows of a statement within a transaction, as lines of a request: each value so that `http_input` reads that very one.

Bytes are arrays of numbers, and what JSON has no number for is a text: NaN, Infinity. What no line can say is refused: a
NULL where the column has a default, which would be that; bytes, NaN and Infinity within other values.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold
from reconciler.project.program.model import Table
from reconciler.rest.answers import json_text, word_of
from reconciler.rest.errors import Refused
from reconciler.rest.fitting import Kind


@dataclass(frozen=True, slots=True)
class Aim:
    """What a line has to know of the table: its key, and the columns that have a default. Names are folded."""

    key: Collection[str]
    defaulted: Collection[str]


def aim_of(table: Table) -> Aim:
    """That of a table."""
    defaulted = [fold(column.name) for column in table.columns if column.default is not None]
    return Aim([fold(name) for name in table.primary_key], defaulted)


def line_of(kind: Kind, names: Sequence[str], row: Sequence[Any], aim: Aim) -> str:
    """The line of a row. Raises Refused."""
    values = dict(zip(names, row, strict=True))
    if kind == "delete" and aim.key:
        # The others have no say.
        values = {name: value for name, value in values.items() if fold(name) in aim.key}
    return json_text({kind: {name: _said(name, value, aim) for name, value in values.items()}})


def _said(name: str, value: Any, aim: Aim) -> Any:
    match value:
        case None if fold(name) in aim.defaulted:
            raise _unsayable(name, "NULL, where it has a default")
        case bytes() | bytearray():
            return [*value] or ""
        case float() if not math.isfinite(value):
            return word_of(value)
        case dict() | list() | tuple() if _has_unsayable(value):
            raise _unsayable(name, "bytes, NaN or Infinity within another value")
    return value


def _has_unsayable(value: Any) -> bool:
    match value:
        case bytes() | bytearray():
            return True
        case float():
            return not math.isfinite(value)
        case dict():
            return any(_has_unsayable(one) for pair in value.items() for one in pair)
        case list() | tuple():
            return any(map(_has_unsayable, value))
    return False


def _unsayable(name: str, what: str) -> Refused:
    message = f"within a transaction column {name} can't be given {what}: commit the transaction first"
    return Refused(400, "NotInTransaction", message)
