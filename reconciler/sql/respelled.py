"""A query as the parser knows to read it: what Spark spells in ways that sqlglot does not know is spelled in those it knows.

Each respelling says the same to Spark:
- `X '1F'` and `X"1F"` are `X'1F'`;
- `>>>` becomes `>>`, which analysis tells apart by nothing; `!<` is `>=`, and `!>` is `<=`;
- `LATERAL VIEW explode(a) t c` is `LATERAL VIEW explode(a) t AS c`;
- `window`, where no clause WINDOW begins, is quoted: it is a name or a function;
- `struct(a = b)` becomes `struct(a <=> b)`, which analysis tells apart by nothing: `a` would be the name of a field;
- no-break spaces become spaces.

Where the parser still stops, keywords in places where they can only be names (`SELECT limit, values FROM t`) are quoted.

Nothing of this is in any text that is kept: canonical texts, fingerprints and what Spark gets are made of the query as it is
written. Places in trees are those of the query, too.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from reconciler.base.dataclass import dataclass
from reconciler.sql.lexer import Kind, Token
from reconciler.sql.words import spark_words

_OPERATORS: Final = {">>>": ">>", "!<": ">=", "!>": "<="}
_CANDIDATE: Final = re.compile(r">>>|!<|!>|\b[xX][\s\"/-]|\bwindow\b|\blateral\b|\bstruct\b", re.IGNORECASE)
_STRUCTS: Final = ("struct", "`struct`")
_BLANKS: Final = str.maketrans("\u00a0\ufeff", "  ")
# A keyword between one of these and one of those can only be a name.
_SIGNS: Final = frozenset({",", ".", "=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">=", "||", "/", "%"})
_SIGNS_BEFORE: Final = _SIGNS | {"(", "[", "+", "-"}
_SIGNS_AFTER: Final = _SIGNS | {")", "]", "["}
_BEFORE: Final = ("SELECT", "BY", "WHERE", "AND", "OR", "NOT", "AS", "DISTINCT", "HAVING", "ON", "WHEN", "THEN", "ELSE")
_AFTER: Final = ("AS", "FROM", "IS", "IN", "LIKE", "AND", "OR", "THEN", "BETWEEN")
# Words that are values by themselves, or begin a query.
_VALUE_LIST: Final = (
    "true false null current_catalog current_database current_date current_schema current_time current_timestamp "
    "current_user localtimestamp session_user user select"
)
_NO_NAMES: Final = frozenset(_VALUE_LIST.split())
# What may stand after LATERAL VIEW and be no name of its relation or column.
_CLAUSE_LIST: Final = (
    "anti as cluster cross distribute except full group having inner intersect join lateral left limit minus natural offset "
    "on order pivot qualify right semi sort tablesample union unpivot using where window"
)
_AFTER_A_VIEW: Final = frozenset(_CLAUSE_LIST.split())


@dataclass(frozen=True, slots=True)
class Respelled:
    """A text for the parser. It is made of parts: the one from `starts[i]` on stands for what the query has from
    `origins[i]` on."""

    text: str
    starts: tuple[int, ...] = ()
    origins: tuple[int, ...] = ()

    def origin(self, offset: int) -> int:
        """Where the query has what this text has at an offset."""
        if not self.starts:
            return offset
        part = bisect_right(self.starts, offset) - 1
        found = self.origins[part] + offset - self.starts[part]
        return min(found, self.origins[part + 1]) if part + 1 < len(self.origins) else found

    def set_places(self, tree: exp.Expr) -> None:
        """Let the nodes of a tree stand where they stand in the query, and bear the names that they have there."""
        if not self.starts:
            return
        for node in tree.walk():
            start, end = node.meta.get("start"), node.meta.get("end")
            if isinstance(start, int) and isinstance(end, int):
                node.meta.update(start=self.origin(start), end=self.origin(end + 1) - 1)
            if isinstance(node, exp.Anonymous) and isinstance(node.this, exp.Identifier):
                # Of a function whose name is quoted, the parser makes a child.
                node.meta.update(node.this.meta)
                node.set("this", node.this.name)


def respelled(query: str, tokens: tuple[Token, ...], names: frozenset[int] = frozenset()) -> Respelled:
    """The query for the parser. `names` are the indexes of words that are to be read as names."""
    text = query if query.isascii() else query.translate(_BLANKS)
    if not names and _CANDIDATE.search(query) is None:
        return Respelled(text)
    edits: list[tuple[int, int, str]] = []
    calls = _ends_of_calls(tokens)
    for index, (kind, word, start, end) in enumerate(tokens):
        if kind is Kind.SYMBOL:
            if word in _OPERATORS and _is_operator(_at(tokens, index + 1)):
                edits.append((start, end, _OPERATORS[word]))
        elif word.lower() in _STRUCTS:
            edits += _comparisons(tokens, index, calls)
        elif kind is not Kind.WORD:
            continue
        elif index in names or (word.lower() == "window" and not _begins_windows(tokens, index)):
            edits.append((start, end, f"`{word}`"))
        elif word in ("X", "x"):
            after = _at(tokens, index + 1)
            if after is not None and after.kind is Kind.STRING:
                edits.append((end, after.end, f"'{after.text[1:-1]}'"))
        elif word.upper() == "LATERAL":
            place = _missing_as(tokens, index, calls)
            if place is not None:
                edits.append((place, place, "AS "))
    return _edited(text, sorted(edits))


def surely_names(tokens: tuple[Token, ...]) -> frozenset[int]:
    """The indexes of keywords that stand where only a name can stand. Spark reserves none of them."""
    return frozenset(index for index in range(len(tokens)) if _is_surely_name(tokens, index))


def _is_surely_name(tokens: tuple[Token, ...], index: int) -> bool:
    token, before, after = tokens[index], _at(tokens, index - 1), _at(tokens, index + 1)
    if token.kind is not Kind.WORD or token.text.lower() in _NO_NAMES or token.text.lower() not in spark_words():
        return False
    if before is None or after is None:
        return before is not None and before.is_symbol(".")
    follows = before.text in _SIGNS_BEFORE if before.kind is Kind.SYMBOL else before.is_word(*_BEFORE)
    return follows and (after.text in _SIGNS_AFTER if after.kind is Kind.SYMBOL else after.is_word(*_AFTER))


def _at(tokens: tuple[Token, ...], index: int) -> Token | None:
    return tokens[index] if 0 <= index < len(tokens) else None


def _is_operator(after: Token | None) -> bool:
    """Whether an operand follows; else `>>>` closes types: `ARRAY<ARRAY<ARRAY<INT>>>`."""
    return after is not None and (after.kind is not Kind.SYMBOL or after.text in ("(", "+", "-", "~", "!"))


def _begins_windows(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether the clause `WINDOW w AS (…)` begins there."""
    name, word = _at(tokens, index + 1), _at(tokens, index + 2)
    return name is not None and name.kind in (Kind.WORD, Kind.QUOTED) and word is not None and word.is_word("AS")


def _comparisons(tokens: tuple[Token, ...], index: int, calls: dict[int, int]) -> Iterator[tuple[int, int, str]]:
    """The edits of a call of `struct`: each `=` that stands in it, and not in what stands in it."""
    end = calls.get(index + 1, 0)
    place = index + 2
    while place < end:
        token = tokens[place]
        if token.is_symbol("=") or token.is_symbol("=="):
            yield (token.start, token.end, "<=>")
        place = calls.get(place, place) + 1


def _missing_as(tokens: tuple[Token, ...], index: int, calls: dict[int, int]) -> int | None:
    """Where `LATERAL VIEW f(…) name column` has no AS: the offset of its first column."""
    view, after = _at(tokens, index + 1), _at(tokens, index + 2)
    if view is None or after is None or not view.is_word("VIEW"):
        return None
    # A function's name may have several parts.
    start = index + (3 if after.is_word("OUTER") else 2)
    opening = next((place for place in range(start, min(start + 6, len(tokens))) if tokens[place].is_symbol("(")), None)
    end = calls.get(opening) if opening is not None else None
    if end is None or end + 2 >= len(tokens):
        return None
    name, column = tokens[end + 1], tokens[end + 2]
    return column.start if _is_plain_name(name) and _is_plain_name(column) else None


def _ends_of_calls(tokens: tuple[Token, ...]) -> dict[int, int]:
    """Opening → closing parenthesis, by index."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for index, (kind, text, _, _) in enumerate(tokens):
        if kind is Kind.SYMBOL:
            if text == "(":
                waiting.append(index)
            elif text == ")" and waiting:
                found[waiting.pop()] = index
    return found


def _is_plain_name(token: Token) -> bool:
    return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.text.lower() not in _AFTER_A_VIEW)


def _edited(text: str, edits: list[tuple[int, int, str]]) -> Respelled:
    parts: list[str] = []
    starts: list[int] = [0]
    origins: list[int] = [0]
    position = length = 0
    for start, end, new in edits:
        kept = text[position:start]
        parts += (kept, new)
        length += len(kept)
        starts.append(length)
        origins.append(start)
        length += len(new)
        starts.append(length)
        origins.append(end)
        position = end
    return Respelled("".join((*parts, text[position:])), tuple(starts), tuple(origins)) if edits else Respelled(text)
