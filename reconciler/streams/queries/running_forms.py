"""Aggregates that can go on from what they had: how each is kept between steps, and computed over what came.

An aggregate is one call, its name in any case: `count(*)`, `count(x)`, `count_if(x)`, `sum(x)`, `avg(x)` (`mean`), `min(x)`,
`max(x)`, `bool_and(x)` (`every`), `bool_or(x)` (`any`, `some`), `first(x)` (`first_value`), `last(x)` (`last_value`), with
or without FILTER (WHERE …). What is kept of it are values of Spark: a count, a sum, the least one. Of an average it is the
sum and the count.

The result has the type, and the value, that Spark's aggregate over all rows has. A sum of DOUBLEs is added up in the order
of the rows. The type of a sum or average of DECIMALs depends on that of what is summed: this is a column with a declared
type, or CAST(… AS …). A column whose type is not known may hold DECIMALs.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.names import fold, quoted
from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.token_lists import closing

_NAMES: Final = {
    **{name: name for name in ("avg", "count", "count_if", "first", "last", "max", "min", "sum")},
    "mean": "avg",
    "first_value": "first",
    "last_value": "last",
    "bool_and": "min",
    "every": "min",
    "bool_or": "max",
    "any": "max",
    "some": "max",
}
_SHOWN: Final = "avg, bool_and, bool_or, count, count_if, first, last, max, min, sum"
_BY_ORDER: Final = frozenset({"first", "last"})
_ADDING: Final = frozenset({"sum", "avg"})
_DECIMAL: Final = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_NUMBER: Final = re.compile(r"TINYINT|BYTE|SMALLINT|SHORT|INT|INTEGER|BIGINT|LONG|FLOAT|REAL|DOUBLE")
_DECIMAL_WORDS: Final = frozenset({"DECIMAL", "DEC", "NUMERIC", "TO_NUMBER", "TRY_TO_NUMBER"})
_DECIMAL_LITERAL: Final = re.compile(r"(?:\d*\.\d*|.*[bB][dD])")
_MOST_DIGITS: Final = 38
# Beyond that, Spark's division gives fewer places than its average has.
_MOST_DIGITS_OF_AN_AVERAGE: Final = 24
_SAY_THE_TYPE: Final = "the type of what it adds up is not known; say it: CAST(… AS …)"

Columns: TypeAlias = Sequence[tuple[str, str | None]]
Combine: TypeAlias = Callable[[str, str], str]
"""What a column and a window of SQL (`OVER …`) make together."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that is kept between steps. `part` says which one of its aggregate; `of_row` is what a row gives; `combine` is
    the aggregate of the value that was kept and of what the rows after it gave."""

    part: str
    of_row: str
    combine: Combine


@dataclass(frozen=True, slots=True)
class RunningForm:
    """What is kept of an aggregate, and its result: an expression over what is kept, in order."""

    kept: tuple[Kept, ...]
    result: Callable[[Sequence[str]], str]


Forms: TypeAlias = Sequence[tuple[str, RunningForm]]
"""Of aggregates by name."""


@dataclass(frozen=True, slots=True)
class _Call:
    written: str
    function: str
    argument: str
    tokens: tuple[Token, ...]
    condition: str | None

    def value(self) -> str:
        """The argument, where the condition holds. A comment ends with its line."""
        argument = "1" if self.argument == "*" else f"{self.argument}\n"
        return f"({argument})" if self.condition is None else f"CASE WHEN {self.condition}\nTHEN {argument} END"


def running_problem(expression: str, columns: Columns = ()) -> str | None:
    """Why an aggregate can't go on from what it had, or None. With the columns of the input, also why its type can't be
    told."""
    found = _read(expression)
    if isinstance(found, str):
        return found
    return _problem_of_type(found, columns) if found.function in _ADDING else None


def running_form(expression: str, columns: Columns) -> RunningForm:
    """How an aggregate that has no problem goes on."""
    call = _read(expression)
    if isinstance(call, str):
        raise ValueError(f"{expression}: {call}")
    value = call.value()
    match call.function:
        case "count":
            return _single(_one_where(f"{value} IS NOT NULL"), _sum)
        case "count_if":
            return _single(_one_where(value), _sum)
        case "sum":
            return _single(value, _sum_of(_decimal_type(call, columns)))
        case "avg":
            return _average(value, _decimal_type(call, columns))
        case function:
            name = {"first": "FIRST_VALUE", "last": "LAST_VALUE"}.get(function, function.upper())
            return _single(value, lambda column, over: f"{name}({column}) {over}")


def partial_form(expression: str, columns: Columns) -> RunningForm | None:
    """How what an aggregate came to over some rows, and over others, is put together, whatever their order; None where that
    can't be done. `combine` without a window is an aggregate as of GROUP BY."""
    found = _read(expression)
    if isinstance(found, str) or found.function in _BY_ORDER or running_problem(expression, columns) is not None:
        return None
    return running_form(expression, columns)


def partial_forms(aggregates: Sequence[tuple[str, str]], columns: Columns) -> Forms | None:
    """Those of all these aggregates by name, or None."""
    found = [(name, partial_form(expression, columns)) for name, expression in aggregates]
    forms = tuple((name, form) for name, form in found if form is not None)
    return forms if len(forms) == len(found) else None


def kept_values(forms: Forms) -> list[tuple[str, Kept]]:
    """All that is kept between steps, each by its column, quoted."""
    return [(quoted(f"__{one.part}_{name}"), one) for name, form in forms for one in form.kept]


def results_of(forms: Forms) -> list[str]:
    """The results of aggregates over the columns of what is kept."""
    return [form.result([column for column, _ in kept_values([(name, form)])]) for name, form in forms]


def over_window(expression: str, window: str) -> str | None:
    """An aggregate over the rows of a window of Spark SQL, where it is one that can go on from row to row; else None."""
    call = _read(expression)
    if isinstance(call, str):
        return None
    return f"{call.written}({call.value()}) OVER ({window})"


def _single(of_row: str, combine: Combine) -> RunningForm:
    return RunningForm((Kept("value", of_row, combine),), lambda kept: kept[0])


def _average(value: str, decimal: tuple[int, int] | None) -> RunningForm:
    count = Kept("count", _one_where(f"{value} IS NOT NULL"), _sum)
    if decimal is None:
        # Spark adds all other numbers up as DOUBLEs for an average.
        total = Kept("sum", f"CAST({value} AS DOUBLE)", _sum)
        return RunningForm((total, count), lambda kept: f"CASE WHEN {kept[1]} > 0 THEN {kept[0]} / {kept[1]} END")
    total = Kept("sum", value, _sum_of(decimal))
    kind = _decimal(decimal[0] + 4, decimal[1] + 4)
    return RunningForm(
        (total, count),
        lambda kept: f"CAST(CASE WHEN {kept[1]} > 0 THEN {kept[0]} / CAST({kept[1]} AS DECIMAL(20,0)) END AS {kind})",
    )


def _one_where(condition: str) -> str:
    return f"CAST(CASE WHEN {condition} THEN 1 ELSE 0 END AS BIGINT)"


def _sum(column: str, over: str) -> str:
    return f"SUM({column}) {over}"


def _sum_of(decimal: tuple[int, int] | None) -> Combine:
    """A sum has 10 digits more than what is added up. Without the cast, it would get 10 more with each step."""
    if decimal is None:
        return _sum
    kind = _decimal(decimal[0] + 10, decimal[1])
    return lambda column, over: f"CAST({_sum(column, over)} AS {kind})"


def _decimal(digits: int, places: int) -> str:
    return f"DECIMAL({min(digits, _MOST_DIGITS)},{min(places, _MOST_DIGITS)})"


def _read(expression: str) -> _Call | str:
    """The call that an expression is, or why it is none that is known here."""
    tokens = query_tokens(expression)
    unknown = f"it is no call of one of {_SHOWN}"
    if len(tokens) < 4 or tokens[-1].kind is Kind.BAD or tokens[0].kind is not Kind.WORD or not tokens[1].is_symbol("("):
        return unknown
    function = _NAMES.get(fold(tokens[0].text))
    if function is None:
        return unknown
    end = closing(tokens, 1)
    if end is None or end == 2:
        return unknown
    inside = tokens[2:end]
    if len(inside) > 1 and inside[0].is_word("DISTINCT"):
        return "DISTINCT would have to keep all values; leave it out, or aggregate over a window"
    if len(inside) > 1 and inside[0].is_word("ALL"):
        return "leave ALL out: it says nothing"
    if _has_comma(inside):
        return "it takes one argument"
    argument = expression[inside[0].start : inside[-1].end]
    if argument == "*" and function != "count":
        return unknown
    rest = tokens[end + 1 :]
    if not rest:
        return _Call(tokens[0].text, function, argument, inside, None)
    last = len(rest) - 1
    if (
        last > 3
        and rest[0].is_word("FILTER")
        and rest[1].is_symbol("(")
        and rest[2].is_word("WHERE")
        and closing(rest, 1) == last
    ):
        return _Call(tokens[0].text, function, argument, inside, expression[rest[3].start : rest[last - 1].end])
    return f"nothing but FILTER (WHERE …) may follow the call; found '{expression[rest[0].start :]}'"


def _has_comma(tokens: Sequence[Token]) -> bool:
    """Whether one stands outside of all parentheses and brackets."""
    depth = 0
    for token in tokens:
        if token.kind is Kind.SYMBOL:
            depth += (token.text in "([") - (token.text in ")]")
            if token.text == "," and depth == 0:
                return True
    return False


def _type_of(call: _Call, columns: Columns) -> str | None:
    """The type of the argument: that of a column, or what it is cast to. None: not known."""
    tokens = call.tokens
    if len(tokens) == 1:
        return _column_type(tokens[0], columns)
    if tokens[0].is_word("CAST", "TRY_CAST") and tokens[1].is_symbol("(") and closing(tokens, 1) == len(tokens) - 1:
        place = max((place for place, token in enumerate(tokens) if token.is_word("AS")), default=None)
        if place is not None:
            return "".join(token.text for token in tokens[place + 1 : -1]).upper()
    return None


def _name(token: Token) -> str | None:
    """The name, folded, that a token may be."""
    match token.kind:
        case Kind.WORD:
            return fold(token.text)
        case Kind.QUOTED:
            return fold(token.text[1:-1].replace("``", "`"))
        case _:
            return None


def _is_column(token: Token, columns: Columns) -> bool:
    return _name(token) in {fold(column) for column, _ in columns}


def _column_type(token: Token, columns: Columns) -> str | None:
    kind = {fold(column): kind for column, kind in columns}.get(_name(token) or "")
    return None if kind is None else kind.upper()


def _decimal_type(call: _Call, columns: Columns) -> tuple[int, int] | None:
    """Digits and places, if what is added up is known to be DECIMAL."""
    found = _DECIMAL.fullmatch(_type_of(call, columns) or "")
    return None if found is None else (int(found[1] or 10), int(found[2] or 0))


def _problem_of_type(call: _Call, columns: Columns) -> str | None:
    kind = _type_of(call, columns)
    decimal = _decimal_type(call, columns)
    if decimal is not None:
        if call.function == "avg" and decimal[0] > _MOST_DIGITS_OF_AN_AVERAGE:
            most = f"cast it to {_MOST_DIGITS_OF_AN_AVERAGE} digits at most"
            return f"an average of {kind} has more digits than can be kept; {most}"
        return None
    if kind is not None:
        return None if _NUMBER.fullmatch(kind) else f"it adds up values of type {kind}; cast them to a number"
    return _SAY_THE_TYPE if any(_may_be_decimal(token, columns) for token in call.tokens) else None


def _may_be_decimal(token: Token, columns: Columns) -> bool:
    if token.kind is Kind.NUMBER:
        return _DECIMAL_LITERAL.fullmatch(token.text) is not None
    if token.is_word(*_DECIMAL_WORDS):
        return True
    return _is_column(token, columns) and "DECIMAL" in (_column_type(token, columns) or "DECIMAL")
