"""Kinds of values, and what Spark's ANSI mode surely refuses to do with them.

A kind is coarse: NUMBER, TEXT, DATE, TIMESTAMP, BOOLEAN, BINARY, VARIANT, NESTED; None is unknown, and nothing is said of
it. Only what every version of Spark 4 refuses in ANSI mode is a problem. Text is left alone beside all that has no parts: it
is cast by rules that depend on where it stands. tests/sql/test_types_on_spark.py asks Spark about each pair of types.
"""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

NUMBER: Final = "NUMBER"
_NUMBERS: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", NUMBER)
_TEXTS: Final = ("STRING", "VARCHAR", "CHAR")
_WORDS: Final = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif)
_ARTICLES: Final = {
    "NUMBER": "a number",
    "TEXT": "text",
    "DATE": "a DATE",
    "TIMESTAMP": "a TIMESTAMP",
    "BOOLEAN": "a BOOLEAN",
    "BINARY": "BINARY",
    "NESTED": "a nested value",
    "VARIANT": "a VARIANT",
}


def kind_of(column_type: str | None) -> str | None:
    """The kind of a canonical type."""
    if column_type is None:
        return None
    base = column_type.partition("(")[0].partition("<")[0]
    if base in _NUMBERS:
        return "NUMBER"
    if base in _TEXTS:
        return "TEXT"
    if base in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return "TIMESTAMP"
    if base in ("DATE", "BOOLEAN", "BINARY", "VARIANT"):
        return base
    return "NESTED" if base in ("ARRAY", "MAP", "STRUCT") else None


def with_article(kind: str) -> str:
    """A kind as named in messages."""
    return _ARTICLES[kind]


def arithmetic_problem(node: exp.Expr, left: str | None, right: str | None) -> str | None:
    """Why two kinds can't be calculated with, or None."""
    if left is None or right is None or not isinstance(node, _ARITHMETIC) or "TEXT" in (left, right):
        return None
    wrong = "BOOLEAN" in (left, right)
    if isinstance(node, (exp.Mul, exp.Div, exp.Mod)):
        wrong = wrong or any(kind in ("DATE", "TIMESTAMP") for kind in (left, right))
    elif isinstance(node, exp.Add):
        wrong = wrong or (left == right and left in ("DATE", "TIMESTAMP"))
    if not wrong:
        return None
    return f"'{_WORDS[type(node)]}' can't take {with_article(left)} and {with_article(right)}"


def misfit(left: str | None, right: str | None) -> tuple[str, str] | None:
    """Both types as named in messages, where no column can hold values of both and no two of them can be compared. None
    where they fit, or where that is not surely known. Text fits whatever has no parts."""
    one, other = kind_of(left), kind_of(right)
    if left is None or right is None or one is None or other is None:
        return None
    if one != other:
        if "NESTED" in (one, other) or not ("TEXT" in (one, other) or {one, other} <= {"DATE", "TIMESTAMP"}):
            return _named(left, one), _named(right, other)
        return None
    if one != "NESTED":
        return None
    fit = left.partition("<")[0] == right.partition("<")[0]
    if fit and left.startswith("ARRAY<"):
        fit = misfit(left[6:-1], right[6:-1]) is None
    return None if fit else (left, right)


def together(types: Sequence[str | None]) -> str | None:
    """The type of values that are of one of these types, where it is surely known."""
    found = set(types)
    if len(found) == 1:
        return found.pop()
    return NUMBER if found and all(kind_of(one) == "NUMBER" for one in found) else None


def _named(column_type: str, kind: str) -> str:
    return column_type if kind == "NESTED" else with_article(kind)


def is_arithmetic(node: exp.Expr) -> bool:
    return isinstance(node, _ARITHMETIC)


def is_comparison(node: exp.Expr) -> bool:
    return isinstance(node, _COMPARISONS)


def literal_type(node: exp.Literal) -> str | None:
    """The type of a literal as written."""
    if node.is_string:
        return "STRING"
    text = str(node.this)
    if text.isdigit():
        if len(text) > 20:
            return NUMBER
        return "INT" if int(text) < 2**31 else "BIGINT" if int(text) < 2**63 else NUMBER
    return NUMBER
