"""Bytes in JSON: an array of whole numbers from 0 to 255 in the place of a BINARY.

Records are read as texts, in which an array and a text that looks like one are alike. So an array is known by the marks of
its numbers (`json_texts.marked`), which stay in it until it is read here. One without any number has none: whether `[]` or
`["a"]` is an array is not known, and it does not fit.
"""

from typing import Final

from reconciler.engine.spark.json_texts import strict
from reconciler.engine.spark.locations import literal
from reconciler.engine.texts import FOR_NUMBERS

_TEXTS: Final = r'"(\\.|[^"\\])*"'
_WITHOUT_NUMBERS: Final = r"^([\[\]{},:\s]|true|false|null)*$"


def is_array(text: str) -> str:
    """A condition: a text that keeps its marks is an array of numbers, or empty."""
    return f"(startswith({text}, '[') AND (contains({text}, '{FOR_NUMBERS}') OR {text} = '[]'))"


def as_bytes(text: str) -> str:
    """The bytes of such an array, or else those of the text; NULL for an array that does not fit."""
    byte = f"x RLIKE {literal(f'^{FOR_NUMBERS}[0-9]{{1,3}}$')} AND try_cast(substring(x, 2) AS INT) < 256"
    digits = "array_join(transform(parts, x -> lpad(hex(try_cast(substring(x, 2) AS INT)), 2, '0')), '')"
    fits = f"if(size(parts) > 0 AND forall(parts, x -> {byte}), unhex({digits}), NULL)"
    parsed = f"transform(array(from_json({text}, 'array<string>', {strict()})), parts -> {fits})[0]"
    return f"CASE WHEN {is_array(text)} THEN {parsed} WHEN {_may_be_array(text)} THEN NULL ELSE CAST({text} AS BINARY) END"


def _may_be_array(text: str) -> str:
    """A condition: a text that has no marks is an array of JSON without numbers, or looks like one."""
    bare = f"regexp_replace({text}, {literal(_TEXTS)}, '') RLIKE {literal(_WITHOUT_NUMBERS)}"
    return f"(startswith({text}, '[') AND {bare} AND from_json({text}, 'array<string>', {strict()}) IS NOT NULL)"
