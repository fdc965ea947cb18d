"""Calls in a query that surely give other values each time: chance, the clock, whoever asks, where a row happens to lie.

Judged on tokens, so that it holds for every text, however it parses. A word such as CURRENT_DATE counts without
parentheses, too, and in backquotes, unless the query itself gives that name to something: Spark takes a column of that name
first. So a word that many name columns after (`user`) counts with parentheses only.

Not here: what merely depends on the order of rows (`first`, `collect_list`), and functions that are not Spark's own.
"""

import re
from typing import Final

from reconciler.sql.lexer import Kind, Token, query_tokens

_NILADIC_LIST: Final = "current_date current_time current_timestamp current_user localtimestamp session_user"
_NILADIC: Final = frozenset(_NILADIC_LIST.split())
_CALLED: Final = (
    "curdate input_file_block_length input_file_block_start input_file_name monotonically_increasing_id now rand randn "
    "random randstr shuffle spark_partition_id uniform user uuid"
)
NON_DETERMINISTIC: Final = _NILADIC.union(_CALLED.split())
"""Functions of Spark that surely give other values when computed again (folded names)."""
NON_DETERMINISTIC_WITHOUT_ARGUMENTS: Final = frozenset({"unix_timestamp"})
MOMENTS: Final = frozenset({"now", "today", "tomorrow", "yesterday"})
"""What a literal such as DATE 'today' may name."""
# A zone may follow.
_MOMENT: Final = re.compile(rf"\s*({'|'.join(sorted(MOMENTS))})(?:\s+\S*|[^A-Za-z\s]\S*)?\s*\Z", re.IGNORECASE)
_TYPED: Final = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
_NAMING: Final = ("AS", "WITH", "RECURSIVE", "WINDOW")
_JOINING: Final = (".", "@", ":")


def non_deterministic_calls(query: str) -> tuple[str, ...]:
    """The folded names of such functions and words, once each, sorted."""
    tokens = list(query_tokens(query))
    given = _given_names(tokens)
    found = {name for index in range(len(tokens)) if (name := _call(tokens, index, given)) is not None}
    return tuple(sorted(found))


def moment(literal: str) -> str | None:
    """The time at which it is read that a text means where a date or a timestamp is due (`today`, `now UTC`), in lower case.
    Spark takes it so in a typed literal, and wherever it casts a text that is written out: in `d < 'today'`, too."""
    found = _MOMENT.match(literal)
    return found[1].lower() if found is not None else None


def holds_moment(query: str) -> bool:
    """Whether a text that is written out in a query may mean the time at which it is read. Where a text is due it means
    itself; which of both, only types tell."""
    lower = query.lower()
    if not any(word in lower for word in MOMENTS):
        return False
    return any(token.kind is Kind.STRING and moment(_content(token)) is not None for token in query_tokens(query))


def _content(token: Token) -> str:
    return token.text.lstrip("rR").strip("'\"")


def _name(token: Token) -> str | None:
    return token.text.strip("`").lower() if token.kind in (Kind.WORD, Kind.QUOTED) else None


def _given_names(tokens: list[Token]) -> frozenset[str]:
    """Names that the query gives: after AS, and in the lists of columns after a CTE's or an alias's name. In
    `current_date AS current_date` the name is given to the word itself, and says of it nothing else."""
    found: set[str] = set()
    opened: int | None = None
    for index, token in enumerate(tokens):
        name = _name(token)
        if name is not None:
            if index and tokens[index - 1].is_word("AS") and not _is_word_alone(tokens, index - 2, name):
                found.add(name)
        elif token.is_symbol("("):
            opened = index
        elif not token.is_symbol(","):
            if opened is not None and token.is_symbol(")") and _are_columns(tokens, opened, index):
                found.update(_listed(tokens, opened, index))
            opened = None
    return frozenset(found)


def _is_word_alone(tokens: list[Token], index: int, name: str) -> bool:
    """Whether this word stands here, and not as the column of something."""
    if index < 0 or not tokens[index].is_word(name.upper()):
        return False
    return not (index and tokens[index - 1].is_symbol("."))


def _are_columns(tokens: list[Token], opened: int, closed: int) -> bool:
    """Whether parentheses that hold nothing but names stand before `AS (` or after an alias and its AS."""
    if opened < 2:
        return False
    opens_query = closed + 2 < len(tokens) and tokens[closed + 1].is_word("AS") and tokens[closed + 2].is_symbol("(")
    return opens_query or tokens[opened - 2].is_word("AS")


def _listed(tokens: list[Token], opened: int, closed: int) -> set[str]:
    """The names that begin an item of a list."""
    names = ((_name(tokens[index]), tokens[index - 1]) for index in range(opened + 1, closed))
    return {name for name, before in names if name is not None and before.kind is Kind.SYMBOL}


def _call(tokens: list[Token], index: int, given: frozenset[str]) -> str | None:
    """The name of the non-deterministic thing that begins at this token."""
    token = tokens[index]
    name = _name(token)
    if name is None:
        return None
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    if before is not None and ((before.kind is Kind.SYMBOL and before.text in _JOINING) or before.is_word(*_NAMING)):
        return None
    if after is not None and after.is_symbol("("):
        if name in NON_DETERMINISTIC:
            return name
        empty = index + 2 < len(tokens) and tokens[index + 2].is_symbol(")")
        return name if name in NON_DETERMINISTIC_WITHOUT_ARGUMENTS and empty else None
    if token.is_word(*_TYPED) and after is not None and after.kind is Kind.STRING:
        return moment(_content(after))
    if name not in _NILADIC or name in given:
        return None
    return None if after is not None and after.is_symbol(".") else name
