"""Conditions of a SELECT that rows of one relation have to meet by themselves (`row_condition`): without them a row has no
part in any row of the SELECT, whatever it is joined with.

- A part of the AND of WHERE, or of the ON of an INNER JOIN: `a = 1`, `a < 1`, `a BETWEEN 1 AND 2`, `a IN (1, 2)`,
  `a LIKE 'x%'`. NULL meets none of them: so they hold behind outer joins as well.
- The ON of an outer, SEMI or ANTI JOIN is left out.
- The column has a declared type: whole numbers, DECIMAL, DATE, texts. What it is held against is written out, of the same
  kind. Texts are equal, or begin, end and hold parts, as bytes do: of a text with escapes, quotes or signs beyond ASCII
  nothing is said, nor which one of two comes first.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final, assert_never

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.joined_columns import Sight, has_only, parts_of, what_holds
from reconciler.sql.row_condition import RowCondition, Sign, Value

_COMPARED: Final[dict[type[exp.Expr], tuple[Sign, Sign]]] = {
    exp.EQ: (Sign.AMONG, Sign.AMONG),
    exp.LT: (Sign.LESS, Sign.MORE),
    exp.LTE: (Sign.AT_MOST, Sign.AT_LEAST),
    exp.GT: (Sign.MORE, Sign.LESS),
    exp.GTE: (Sign.AT_LEAST, Sign.AT_MOST),
}
"""What a comparison says of its first side, and of its second one."""

_WHOLE: Final = re.compile(r"(?i)(TINYINT|SMALLINT|INT|INTEGER|BIGINT)\Z")
_DECIMAL: Final = re.compile(r"(?i)DECIMAL(?:\s*\(\s*([0-9]{1,2})\s*(?:,\s*([0-9]{1,2})\s*)?\))?\Z")
_TEXT: Final = re.compile(r"(?i)(STRING|VARCHAR\s*\([0-9 ]+\))\Z")
_PLAIN_TEXT: Final = re.compile(r"[ !#-&(-\[\]-~]*\Z")
"""ASCII without quotes and backslashes."""
_LIKE: Final = re.compile(r"(?P<before>%?)(?P<part>[^%_]+)(?P<behind>%?)\Z")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_MOST_BEFORE: Final = 18
_MOST_BEHIND: Final = 8
_NUMBER: Final = re.compile(rf"[0-9]{{1,{_MOST_BEFORE}}}(\.[0-9]{{1,{_MOST_BEHIND}}})?\Z")
_MOST_DIGITS: Final = 38
_DIGITS_OF_BIGINT: Final = 20
_OF_TEXTS: Final = frozenset({Sign.AMONG, Sign.BEGINS, Sign.ENDS, Sign.HOLDS})


def plain_conditions(sight: Sight) -> tuple[tuple[RowCondition, ...], ...]:
    """For each relation of a FROM what its rows have to meet."""
    found: list[list[RowCondition]] = [[] for _ in range(sight.count)]
    for one in sight.with_those_within():
        for condition in what_holds(one.node):
            for part in parts_of(condition):
                for column, sign, values in _of(part):
                    place = one.place(column)
                    fitting = _fitting(one.declared(place), sign, values) if place is not None else None
                    if place is not None and fitting is not None:
                        found[place[0]].append(RowCondition(fold(place[1]), sign, fitting))
    return tuple(tuple(dict.fromkeys(one)) for one in found)


def _of(part: exp.Expr) -> Iterator[tuple[exp.Column, Sign, list[exp.Expr]]]:
    """A column, and what a condition holds it against."""
    if not has_only(part, "this", "expression", "expressions", "low", "high"):
        return
    match part:
        case _ if type(part) in _COMPARED:
            sides = part.this.unnest(), part.expression.unnest()
            for (one, other), sign in zip((sides, sides[::-1]), _COMPARED[type(part)], strict=True):
                if isinstance(one, exp.Column):
                    yield one, sign, [other]
        case exp.Between() if isinstance(part.this, exp.Column):
            yield part.this, Sign.AT_LEAST, [part.args["low"]]
            yield part.this, Sign.AT_MOST, [part.args["high"]]
        case exp.In() if isinstance(part.this, exp.Column) and part.expressions:
            yield part.this, Sign.AMONG, list(part.expressions)
        case exp.Like() if isinstance(part.this, exp.Column):
            held = _of_pattern(part.expression)
            if held is not None:
                yield part.this, held[0], [exp.Literal.string(held[1])]
        case _:
            return


def _of_pattern(pattern: exp.Expr) -> tuple[Sign, str] | None:
    found = _LIKE.match(pattern.name) if isinstance(pattern, exp.Literal) and pattern.is_string else None
    if found is None:
        return None
    match bool(found["before"]), bool(found["behind"]):
        case True, True:
            return Sign.HOLDS, found["part"]
        case True, False:
            return Sign.ENDS, found["part"]
        case False, True:
            return Sign.BEGINS, found["part"]
        case _:
            return Sign.AMONG, found["part"]


def _fitting(declared: str | None, sign: Sign, values: list[exp.Expr]) -> tuple[Value, ...] | None:
    """The values, where the type of the column is known and all are of its kind."""
    kind = (declared or "").strip()
    found = [_of_kind(kind, _value(node)) for node in values]
    known = tuple(one for one in found if one is not None)
    is_sure = not isinstance(next(iter(known), None), str) or sign in _OF_TEXTS
    return known if len(known) == len(found) and is_sure else None


def _of_kind(kind: str, value: Value | None) -> Value | None:
    """A value that a column of a type is held against; None where both are not surely compared as they are."""
    match value:
        case int():
            return value if _WHOLE.match(kind) else _of_kind(kind, Decimal(value))
        case Decimal():
            decimal = _DECIMAL.match(kind)
            if decimal is None:
                return None
            # Beyond 38 digits Spark rounds before it compares. In an IN it takes a whole number for one of 20 digits.
            digits, scale = int(decimal[1] or 10), int(decimal[2] or 0)
            return value if max(digits - scale, _DIGITS_OF_BIGINT) + max(scale, _MOST_BEHIND) <= _MOST_DIGITS else None
        case date():
            return value if kind.upper() == "DATE" else None
        case str():
            return value if _TEXT.match(kind) else None
        case None:
            return None
        case _:
            assert_never(value)


def _value(node: exp.Expr) -> Value | None:
    """What a literal says."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        value = _value(node.this)
        return -value if isinstance(value, int | Decimal) else None
    if type(node) is exp.Cast and has_only(node, "this", "to") and node.to.is_type(exp.DataType.Type.DATE):
        text = node.this.name if isinstance(node.this, exp.Literal) and node.this.is_string else ""
        try:
            return date.fromisoformat(text) if _DAY.match(text) else None
        except ValueError:
            return None
    if not isinstance(node, exp.Literal):
        return None
    text = node.name
    if node.is_string:
        return text if _PLAIN_TEXT.match(text) else None
    if _NUMBER.match(text) is None:
        return None
    return Decimal(text) if "." in text else int(text)
