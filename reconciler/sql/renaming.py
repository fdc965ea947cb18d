"""Carry renames out in a query's text, where it is certain what a word names.

A relation's name is replaced where it stands alone (after FROM, as a head before a point, …), a column's also right after a
point whose head surely is a relation. The result says something only to a caller who compares besides what the two queries
read, give and descend from. Nothing is said (None) where

- a new name stands in the query already, so that two things might become one;
- a name means something to Spark's grammar or is a function's (`min`, `left`, `month`): then a word that looks like it may
  be no name at all;
- an old name stands after a point whose head is not surely a relation: it may be a field or a key;
- an old name is called like a function, or the text can't be cut into tokens.

`shows_names` says where a query's results depend on names of columns beyond its own words.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from reconciler.base.names import fold
from reconciler.sql.lexer import Kind, query_tokens
from reconciler.sql.query import Parsed, parse_query
from reconciler.sql.shapes import shapes_of
from reconciler.sql.visible import visible_heads
from reconciler.sql.words import spark_functions, spark_words


def renamed_query(query: str, relations: Mapping[str, str], columns: Mapping[str, str]) -> str | None:
    """The query with old names of relations and columns (folded) replaced by new ones, or None. See the module."""
    names = {**relations, **columns}
    if len(names) < len(relations) + len(columns) or any(map(_means_something, (*names, *names.values()))):
        return None
    tokens = list(query_tokens(query))
    shapes = shapes_of(tokens)
    if shapes is None:
        return None
    heads = visible_heads(shapes)
    targets = set(names.values()) - set(names)
    parts: list[str] = []
    position = 0
    for index, token in enumerate(tokens):
        if token.kind not in (Kind.WORD, Kind.QUOTED):
            continue
        key = fold(token.text.strip("`"))
        if key in targets:
            return None
        if key not in names:
            continue
        if index and tokens[index - 1].is_symbol("."):
            if key not in columns or index - 2 not in heads:
                return None
        elif index + 1 < len(tokens) and tokens[index + 1].is_symbol("("):
            return None
        quote = "`" if token.text.startswith("`") else ""
        parts += [query[position : token.start], quote, names[key], quote]
        position = token.end
    return "".join([*parts, query[position:]])


# In these a tuple is compared or grouped by, and its fields' names are nobody's.
_COMPARING: Final = (exp.In, exp.Values, exp.Group, exp.GroupingSets, exp.Rollup, exp.Cube, exp.Tuple)


def shows_names(query: str) -> bool:
    """Whether a query matches columns by their names (NATURAL, BY NAME), or may give a struct whose fields are named after
    columns (`(a, b)`): then a rename reaches what it gives, though nothing else in it does."""
    if any(token.is_word("NATURAL", "NAME") for token in query_tokens(query)):
        return True
    parsed = parse_query(query)
    if not isinstance(parsed, Parsed):
        return True
    return any(not isinstance(one.parent, _COMPARING) for one in parsed.tree.find_all(exp.Tuple))


def _means_something(name: str) -> bool:
    return name in spark_words() or name in spark_functions()
