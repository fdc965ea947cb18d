"""Carry renames out in a query's text, token by token.

Every word that is an old name becomes the new one, whatever it names there; so the result says something only to a caller
who also compares what the two queries read and give. Nothing is said (None) where a new name stands in the query already,
as then two things might become one, or where the text can't be cut into tokens.
"""

from collections.abc import Mapping

from reconciler.names import fold
from reconciler.sql.lexer import Kind, query_tokens


def renamed_query(query: str, names: Mapping[str, str]) -> str | None:
    """The query with old names (folded) replaced by new ones, or None. See the module."""
    targets = set(names.values())
    parts: list[str] = []
    position = 0
    for token in query_tokens(query):
        if token.kind is Kind.BAD:
            return None
        if token.kind not in (Kind.WORD, Kind.QUOTED):
            continue
        key = fold(token.text.strip("`"))
        if key in targets and key not in names:
            return None
        if key in names:
            quote = "`" if token.text.startswith("`") else ""
            parts += [query[position : token.start], quote, names[key], quote]
            position = token.end
    return "".join([*parts, query[position:]])
