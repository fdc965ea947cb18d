"""The canonical text of a query: equal for queries that differ in nothing that could change their meaning.

It works on tokens, not on a parsed tree: a parser normalises and drops things of its own accord (and otherwise in its
next release), while equal tokens mean equal queries whatever they say. What is evened out, and why it can't matter:

- comments and white space, a final semicolon. A hint `/*+ … */` is kept: it is no comment to Spark;
- letter case of unquoted and backquoted ASCII names and of keywords: Spark matches them without regard to case. So two
  queries whose columns are spelled `Total` and `total` are one query; spelling is not meaning. Case is kept
  - in strings, always;
  - after a point, unless what stands before it names a relation of an enclosing FROM: `m.Key` may look up a map;
  - of all names, when the query turns names into data (`to_json`, `struct`, `UNPIVOT` …: `spelling.REFLECTING`), may
    give a tuple (`(a, b)`: a struct whose fields are named after columns), or the caller says that names are data
    somewhere in the program, as keys of maps are. Then only keywords in places where they name nothing and names of
    functions are folded;
- backquotes around a plain name that is no word of Spark's grammar;
- the prefix and suffix letters of literals (`R'…'`, `1L`, `1E5`);
- words and operators that the grammar spells in two ways, or can do without: one module each, see `rewrites`;
- parentheses that can't group anything differently: see `parentheses`.

All of it is proven for how Spark reads queries by itself. Where settings may have it read them otherwise
(`manifest.reading_settings`), the canonical text is what is written, but for comments and layout (`written_text`).

None of it changes the name that Spark makes up for a column without alias: it prints the parsed expression.
All else stays: order, spelling of literals, quotes of strings. When unsure, texts differ.
Text that can't be cut into tokens is its own canonical text. Any text is accepted.
"""

import re
from typing import Final

from reconciler.sql.keywords import sure_keywords
from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.parentheses import without_redundant
from reconciler.sql.rewrites import aliases, binaries, joins, operators, ordering, quantifiers, set_operators, type_names
from reconciler.sql.rewrites.changes import Changes
from reconciler.sql.shapes import shapes_of
from reconciler.sql.spelling import Spelling, reflects
from reconciler.sql.visible import visible_heads
from reconciler.sql.words import spark_words

_PLAIN: Final = re.compile(r"`[A-Za-z_][A-Za-z0-9_]*`\Z")
_LETTER_SUFFIX: Final = re.compile(r"[0-9.]+(?:[eE][+-]?[0-9]+)?(?:[lLsSyYdDfF]|[bB][dD])?\Z")
# A rewrite has nothing to do in a query that has none of its marks.
_REWRITES: Final = (
    (operators.MARKS, operators.even_operators),
    (joins.MARKS, joins.even_joins),
    (set_operators.MARKS, set_operators.even_set_operators),
    (quantifiers.MARKS, quantifiers.even_quantifiers),
    (ordering.MARKS, ordering.even_ordering),
    (type_names.MARKS, type_names.even_type_names),
)


def canonical_text(query: str, spelling: Spelling) -> str:
    """The canonical text of a query in a program whose spelling is meaning as far as that says."""
    if spelling is Spelling.LAYOUT_ASIDE:
        return written_text(query)
    return canonical_query(query, spelling is Spelling.CASE_OF_NAMES)


def written_text(query: str) -> str:
    """The tokens as they are written, apart where they are apart: Spark may name a column by how it is written."""
    parts: list[str] = []
    end = 0
    for token in query_tokens(query):
        if parts and token.start > end:
            parts.append(" ")
        parts.append(token.text)
        end = token.end
    return "".join(parts) or query.strip()


def canonical_query(query: str, names_are_data: bool = False) -> str:
    """The canonical text of a query. Never raises. `names_are_data`: keep the letter case of every name."""
    tokens = list(query_tokens(query))
    while tokens and tokens[-1].is_symbol(";"):
        tokens.pop()
    shapes = shapes_of(tokens)
    if not shapes:
        return query.strip()
    present = frozenset(shapes)
    if names_are_data or reflects(shapes, present):
        texts = _kept_texts(tokens, shapes)
    else:
        texts = _folded_texts(tokens, shapes)
    changes = Changes()
    for marks, rewrite in _REWRITES:
        if not marks.isdisjoint(present):
            rewrite(shapes, changes)
    if not binaries.MARKS.isdisjoint(present):
        binaries.even_binaries(tokens, shapes, changes)
    aliases.even_aliases(shapes, present, changes)
    return " ".join(without_redundant(changes.applied_to(texts)))


def _folded_texts(tokens: list[Token], shapes: list[str]) -> list[str]:
    """The texts, names folded wherever they are surely no key of a map."""
    texts = [shape if token.kind is Kind.WORD else _text(token, True) for token, shape in zip(tokens, shapes, strict=True)]
    heads = visible_heads(shapes) if "." in shapes else frozenset()
    for index in range(1, len(tokens)):
        before = shapes[index - 1]
        # Only the part right after a relation's name is surely a column; what follows may be a map's key.
        if before == ":" or (before == "." and index - 2 not in heads):
            texts[index] = _text(tokens[index], False)
    return texts


def _kept_texts(tokens: list[Token], shapes: list[str]) -> list[str]:
    """The texts, spelled as they are but for keywords and the names of functions."""
    keywords = sure_keywords(shapes)
    last = len(tokens) - 1
    return [
        _text(token, index in keywords or (index < last and shapes[index + 1] == "(")) for index, token in enumerate(tokens)
    ]


def _text(token: Token, fold: bool) -> str:
    match token.kind:
        case Kind.WORD:
            return _folded(token.text) if fold else token.text
        case Kind.QUOTED:
            return _unquoted(token.text, fold)
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
