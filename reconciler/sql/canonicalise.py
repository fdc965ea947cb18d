"""The canonical text of a query: equal for queries that differ in nothing that could change their meaning.

It works on tokens, not on a parsed tree: a parser normalises and drops things of its own accord (and otherwise in its
next release), while equal tokens mean equal queries whatever they say. What is evened out, and why it can't matter:

- comments and white space, a final semicolon. A hint `/*+ … */` is kept: it is no comment to Spark;
- letter case of unquoted and backquoted ASCII names and of keywords: Spark matches them without regard to case. So two
  queries whose columns are spelled `Total` and `total` are one query; spelling is not meaning. Case is kept
  - in strings, always;
  - after a point, unless what stands before it names a relation of an enclosing FROM: `m.Key` may look up a map;
  - of all names, when the query turns names into data (`to_json`, `struct`, `UNPIVOT` …: `spelling.REFLECTING`) or the
    caller says that names are data somewhere in the program, as keys of maps are. Then only keywords in places where
    they name nothing and names of functions are folded;
- backquotes around a plain name that is no word of Spark's grammar;
- the prefix and suffix letters of literals (`R'…'`, `1L`, `1E5`);
- parentheses that can't group anything differently: see `parentheses`.

All else stays: order, spelling of operators and literals, quotes of strings. When unsure, texts differ.
Text that can't be cut into tokens is its own canonical text. Any text is accepted.
"""

import re
from typing import Final

from reconciler.sql.lexer import Dialect, Kind, Token, tokens_of
from reconciler.sql.parentheses import without_redundant
from reconciler.sql.spelling import is_reflecting, is_strange, is_surely_no_name
from reconciler.sql.visible import visible_heads
from reconciler.sql.words import spark_words

_PLAIN: Final = re.compile(r"`[A-Za-z_][A-Za-z0-9_]*`\Z")
_LETTER_SUFFIX: Final = re.compile(r"[0-9.]+(?:[eE][+-]?[0-9]+)?(?:[lLsSyYdDfF]|[bB][dD])?\Z")


def canonical_query(query: str, names_are_data: bool = False) -> str:
    """The canonical text of a query. Never raises. `names_are_data`: keep the letter case of every name."""
    tokens = list(tokens_of(query, Dialect.QUERY))
    while tokens and tokens[-1].is_symbol(";"):
        tokens.pop()
    if not tokens or tokens[-1].kind is Kind.BAD or any(map(is_strange, tokens)):
        return query.strip()
    keep = names_are_data or is_reflecting(tokens)
    heads = frozenset[int]() if keep else visible_heads(tokens)
    texts = [_text(tokens, index, keep, heads) for index in range(len(tokens))]
    return " ".join(without_redundant(texts))


def _text(tokens: list[Token], index: int, keep: bool, heads: frozenset[int]) -> str:
    token = tokens[index]
    match token.kind:
        case Kind.WORD:
            return _folded(token.text) if _foldable(tokens, index, keep, heads) else token.text
        case Kind.QUOTED:
            return _unquoted(token.text, _foldable(tokens, index, keep, heads))
        case Kind.STRING if token.text[0] in "rR":
            return "r" + token.text[1:]
        case Kind.NUMBER if _LETTER_SUFFIX.match(token.text):
            return token.text.upper()
        case _:
            return token.text


def _folded(text: str) -> str:
    # Outside ASCII, which letters are one letter depends on the locale and on the Unicode version.
    return text.lower() if text.isascii() else text


def _unquoted(text: str, fold: bool) -> str:
    if _PLAIN.match(text) and text[1:-1].lower() not in spark_words():
        text = text[1:-1]
    return _folded(text) if fold else text


def _foldable(tokens: list[Token], index: int, keep: bool, heads: frozenset[int]) -> bool:
    if index and (tokens[index - 1].is_symbol(".") or tokens[index - 1].is_symbol(":")):
        # Only the part right after a relation's name is surely a column; what follows may be a map's key.
        return index - 2 in heads and tokens[index - 1].is_symbol(".")
    return not keep or is_surely_no_name(tokens, index)
