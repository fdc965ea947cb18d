"""How many arguments Spark's most used functions take, and calls that give another number.

Judged on tokens, before any tree: a parser may stop at such a call, and rewrites others. Calls with a syntax of their
own inside (`TRIM(BOTH x FROM y)`) are passed over, and so is every function not listed, nor declared by the pipeline.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.sql.lexer import Kind, Token
from reconciler.sql.problems import Problem
from reconciler.sql.stars import stands_for_columns

_EXACT: Final[dict[int, str]] = {
    0: "row_number cume_dist current_date pi e",
    1: (
        "sum avg min max abs upper lower ucase lcase length char_length sqrt exp ln year quarter month day dayofmonth "
        "dayofweek dayofyear weekofyear last_day stddev variance stddev_pop stddev_samp var_pop "
        "var_samp collect_list collect_set bool_and bool_or count_if isnull isnotnull isnan reverse initcap ascii md5 "
        "sha1 sign signum sin cos tan explode posexplode map_keys map_values array_distinct array_max array_min"
    ),
    2: (
        "nullif ifnull nvl power pow mod pmod date_trunc trunc add_months array_contains instr repeat "
        "corr covar_pop covar_samp atan2 next_day array_union array_except array_intersect"
    ),
    3: "if nvl2 translate",
}
_BETWEEN: Final[dict[str, tuple[int, int | None]]] = {
    "coalesce": (1, None),
    "greatest": (2, None),
    "least": (2, None),
    "round": (1, 2),
    "bround": (1, 2),
    "substring": (2, 3),
    "substr": (2, 3),
    "replace": (2, 3),
    "split": (2, 3),
    "lag": (1, 3),
    "lead": (1, 3),
    "ntile": (0, 1),
    "to_date": (1, 2),
    "to_timestamp": (1, 2),
    "regexp_replace": (3, 4),
    "lpad": (2, 3),
    "rpad": (2, 3),
    "ltrim": (1, 2),
    "rtrim": (1, 2),
    "date_format": (2, 2),
    # Spark looks at the first argument only.
    "hour": (1, None),
    "minute": (1, None),
    "second": (1, None),
    "max_by": (2, 3),
    "min_by": (2, 3),
}
ARITY: Final = {name: (count, count) for count, names in _EXACT.items() for name in names.split()} | _BETWEEN
_OWN_SYNTAX: Final = ("FROM", "FOR", "IN", "ORDER", "PLACING", "AS", "USING", "WITHIN", "LIMIT", "SELECT", "WITH")
_NOT_A_CALL_AFTER: Final = (".", "@")


def wrong_calls(tokens: tuple[Token, ...], functions: Mapping[str, int] = MappingProxyType({})) -> tuple[Problem, ...]:
    """A problem for each call of a listed function with a number of arguments that it can't take. `functions` are the
    pipeline's own: folded name → number of parameters."""
    problems: list[Problem] = []
    groups = _groups(tokens)
    for index in range(len(tokens) - 1):
        token = tokens[index]
        limits = _known_limits(token.text.lower(), functions) if token.kind is Kind.WORD else None
        if limits is None or not tokens[index + 1].is_symbol("(") or not _is_call(tokens, index, groups[index + 1]):
            continue
        count = _arguments(index + 1, groups[index + 1])
        if count is None:
            continue
        least, most = limits
        if count < least or (most is not None and count > most):
            message = f"{token.text.lower()} takes {_limits(least, most)}, found {count}"
            problems.append(Problem("S230", message, token.start))
    return tuple(problems)


def _known_limits(name: str, functions: Mapping[str, int]) -> tuple[int, int | None] | None:
    own = functions.get(name)
    return ARITY.get(name) if own is None else (own, own)


@dataclass(slots=True)
class _Group:
    """One pair of parentheses or brackets: where it closes, the commas between its parts, and whether nothing else than
    plain arguments stands between them."""

    closing: int | None = None
    commas: int = 0
    is_plain: bool = True


def _is_call(tokens: tuple[Token, ...], index: int, group: _Group) -> bool:
    """Not a method of something, not an alias with column names, not the name of a CTE."""
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.kind is Kind.SYMBOL:
        return before.text not in (")", "]", *_NOT_A_CALL_AFTER) and not _is_named_query(tokens, group)
    return before.kind is Kind.WORD and before.is_word(
        *("SELECT", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "BY", "WHEN", "THEN", "ELSE", "BETWEEN", "DISTINCT"),
        *("CASE", "IN", "LIKE", "IS", "ALL", "INTERVAL", "DIV"),
    )


def _is_named_query(tokens: tuple[Token, ...], group: _Group) -> bool:
    """`name (a, b) AS (` after a comma: a CTE."""
    if group.closing is None:
        return False
    rest = tokens[group.closing + 1 : group.closing + 3]
    return len(rest) == 2 and rest[0].is_word("AS") and rest[1].is_symbol("(")


def _groups(tokens: tuple[Token, ...]) -> dict[int, _Group]:
    """What stands in parentheses and brackets, by the place where each opens. All of it in one pass: calls may stand in
    calls, thousands deep."""
    found: dict[int, _Group] = {}
    around: list[_Group] = []
    for index, token in enumerate(tokens):
        if token.kind is Kind.SYMBOL and token.text in ("(", "["):
            found[index] = _Group()
            around.append(found[index])
        elif not around:
            continue
        elif token.kind is Kind.SYMBOL:
            inner = around[-1]
            if token.text in (")", "]"):
                inner.closing = index
                inner.is_plain = inner.is_plain and token.text == ")"
                around.pop()
            elif token.text == ",":
                inner.commas += 1
            elif token.text in ("=>", "->") or (token.text == "*" and stands_for_columns(tokens, index)):
                inner.is_plain = False
        elif token.is_word(*_OWN_SYNTAX):
            around[-1].is_plain = False
    return found


def _arguments(opening: int, group: _Group) -> int | None:
    """The number of arguments of a call whose parenthesis opens here; None where it can't be told."""
    if group.closing is None or not group.is_plain:
        return None
    return 0 if group.closing == opening + 1 else group.commas + 1


def _limits(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} argument{'s' if least != 1 else ''}"
    if least == most:
        return "no argument" if most == 0 else f"{most} argument{'s' if most != 1 else ''}"
    return f"{least} to {most} arguments"
